/* SPDX-License-Identifier: MIT */
/* The Linux source's state, shared by the files of this folder. */
#ifndef MT_SOURCE_LINUX_LINUX_SOURCE_H
#define MT_SOURCE_LINUX_LINUX_SOURCE_H

#include "source/linux/count.h"
#include "source/linux/follow.h"
#include "source/linux/kept_flags.h"
#include "source/linux/lines.h"
#include "source/linux/list_text.h"
#include "source/source.h"

#define MT_HUGETLB_DEVICES 16u

struct mt_linux_source {
    struct mt_source base; /* first */
    uint32_t pid;          /* 0 = this process, or files */
    bool live;             /* the kernel answers, not files */
    bool seen;             /* a list has been read before */

    /* descriptors, -1 = none */
    int leader;               /* directory of the process */
    int task;                 /* directory of a thread that lives: its maps is not empty */
    int maps, smaps, pagemap; /* of task */
    int status, stat;         /* of leader */
    int task_status;

    uint64_t lowest_address;
    uint64_t ticks_per_second;
    struct mt_lines lines;
    struct mt_list_text text;
    const struct mt_snapshot *told; /* holds what `text` says, place by place; NULL = none does */
    struct mt_follow follow;        /* whether `told` may be kept, and how */
    struct mt_pace pace;            /* of counting */
    struct mt_pace text_pace;       /* of smaps, whose holds cannot be kept short */
    struct mt_count count;

    /* devices whose mappings are hugetlb, learned from VmFlags: maps does not tell */
    uint32_t n_hugetlb;
    uint32_t hugetlb[MT_HUGETLB_DEVICES];

    struct mt_kept_flags *kept_flags; /* behind this struct, untouched where there are none */
};

/* mt_source_open_process, with the place of /proc. */
int mt_linux_open(const char *proc_root, uint32_t pid, struct mt_source **out);

/* A source without descriptors; NULL = no memory (the detail is set). */
struct mt_linux_source *mt_linux_new(void);
void mt_linux_close(struct mt_source *source);

/* descriptors.c: opens what `leader` and `task` hold. EDENIED, ESTATE, EIO. */
int mt_descriptors_open(struct mt_linux_source *s);
/* Finds a thread with memory again, after the list came out empty. False = there is none. */
bool mt_descriptors_renew(struct mt_linux_source *s);
void mt_descriptors_close(struct mt_linux_source *s);

/* The operations: listing.c, process_counters.c. */
int mt_linux_list(struct mt_source *source, struct mt_snapshot *out, bool pages);
bool mt_linux_follow(struct mt_source *source, struct mt_snapshot *out);
int mt_linux_counters(struct mt_source *source, struct mt_counters *out);

#endif
