/* SPDX-License-Identifier: MIT */
/* The nouns of the data's way: what the OS lists (region), who owns it (claim), what it is
 * (interval), and the counters of the process. Plain values; sorted arrays; no pointers inside. */
#ifndef MT_BASE_REGION_H
#define MT_BASE_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory_type.h"

/* ---- pages: what was counted in a range ---- */

enum mt_page {
#define MT_PAGE(name, description) MT_PAGE_##name,
#include "base/page_count.def"
#undef MT_PAGE
    MT_PAGE_COUNT
};

/* Bytes by kind of page; a kind without its bit in `known` was not counted. */
struct mt_pages {
    uint32_t known;
    uint64_t bytes[MT_PAGE_COUNT];
};

/* ---- regions: the mappings as the operating system lists them ---- */

#define MT_PROT_READ 1u
#define MT_PROT_WRITE 2u
#define MT_PROT_EXECUTE 4u

#define MT_REGION_SHARED (1u << 0)      /* shared mapping: writes are seen by others */
#define MT_REGION_FILE (1u << 1)        /* has a file, or a kernel object that acts as one */
#define MT_REGION_CHARGED (1u << 2)     /* counts against the commit limit (Linux VmFlags ac) */
#define MT_REGION_NORESERVE (1u << 3)   /* explicitly not charged (nr) */
#define MT_REGION_HUGETLB (1u << 4)     /* hugetlb pages (ht) */
#define MT_REGION_DEVICE (1u << 5)      /* device or kernel memory (pf, io) */
#define MT_REGION_MIXED (1u << 6)       /* mixed map of kernel pages (mm) */
#define MT_REGION_GROWSDOWN (1u << 7)   /* a stack that grows (gd) */
#define MT_REGION_STACK_HINT (1u << 8)  /* no huge pages wanted (nh): mapped MAP_STACK since 6.7 */
#define MT_REGION_LOCKED (1u << 9)      /* locked in memory (lo) */
#define MT_REGION_GUARD_HINT (1u << 10) /* may hold guard markers (gu) */
#define MT_REGION_NODUMP (1u << 11)     /* left out of core dumps (dd) */
#define MT_REGION_UFFD (1u << 12)       /* watched by userfaultfd: reading may block */
#define MT_REGION_MERGEABLE (1u << 13)  /* KSM may merge its pages (mg) */
#define MT_REGION_SHADOW_STACK (1u << 14) /* hardware shadow stack (ss) */
#define MT_REGION_FLAGS_KNOWN (1u << 15)  /* the bits that only VmFlags tell are known */
#define MT_REGION_OUTSIDE (1u << 16)      /* above the user's address space ([vsyscall]) */
#define MT_REGION_DELETED (1u << 17)      /* its file has no name any more */
/* What Windows tells of a region, and Linux does not. */
#define MT_REGION_IMAGE (1u << 18)     /* mapped as a program or library (MEM_IMAGE) */
#define MT_REGION_DATA (1u << 19)      /* a file mapped as data */
#define MT_REGION_SECTION (1u << 20)   /* a mapped section without a file */
#define MT_REGION_PRIVATE (1u << 21)   /* none of these three (MEM_PRIVATE) */
#define MT_REGION_COMMITTED (1u << 22) /* MEM_COMMIT, whatever its protection */
#define MT_REGION_GUARD (1u << 23)     /* guard pages (PAGE_GUARD): looking faults */
#define MT_REGION_LOST (1u << 24)      /* free, but too close to a neighbour to be allocated */

struct mt_region {
    uint64_t base;
    uint64_t end; /* exclusive */
    uint64_t offset;
    uint64_t inode;             /* 0 = none or unknown */
    uint32_t device;            /* major << 20 | minor, 0 = none or unknown */
    uint32_t protection;        /* MT_PROT_… */
    uint32_t flags;             /* MT_REGION_… */
    uint32_t name;              /* string id (base/strings.h), 0 = nameless */
    uint32_t kernel_page_bytes; /* 0 = unknown */
    struct mt_pages pages;
};

/* ---- claims: who owns which range ---- */

/* Confidence as the file keeps it. */
#define MT_CONFIDENCE_A 'A' /* certain */
#define MT_CONFIDENCE_B 'B' /* very likely */
#define MT_CONFIDENCE_C 'C' /* heuristic */

/* The higher rank wins where claims overlap; of one rank, the later in the array. */
enum mt_rank {
    MT_RANK_RUNTIME_WINDOW = 10, /* address windows of runtimes */
    MT_RANK_ALLOCATOR = 20,      /* allocator's mappings by shape */
    MT_RANK_BRK = 30,            /* the brk area */
    MT_RANK_IMAGE = 40,          /* spans of loaded objects */
    MT_RANK_NAME = 50,           /* names the kernel keeps for mappings */
    MT_RANK_ARENA = 60,          /* malloc arenas, by their headers */
    MT_RANK_CHUNK = 70,          /* malloc blocks mapped one by one, by their headers */
    MT_RANK_USER = 80,           /* the host said so */
    MT_RANK_STACK = 90,          /* thread descriptors */
    MT_RANK_GUARD = 100,         /* guards named by descriptors */
    MT_RANK_TRACER = 110         /* our own memory */
};

#define MT_CLAIM_RESERVED (1u << 0) /* address space kept for later, not accessible */
#define MT_CLAIM_GUARD (1u << 1)    /* guard pages: part of size, not of committed */
#define MT_CLAIM_CACHED (1u << 2)   /* stack of an ended thread, kept by the C library */
#define MT_CLAIM_APART (1u << 3)    /* a block of its own: never joined with its neighbour */
#define MT_CLAIM_RELRO (1u << 4)    /* of an image: read-only once its addresses were filled in */
#define MT_CLAIM_BSS (1u << 5)      /* of an image: zero-initialised, not in its file */

struct mt_claim {
    uint64_t base;
    uint64_t end;    /* exclusive */
    uint32_t owner;  /* string id: "thread 17 worker", "malloc arena", a module's path … */
    uint32_t thread; /* thread id, 0 = none */
    uint32_t flags;  /* MT_CLAIM_… */
    uint8_t type;    /* enum mt_type */
    uint8_t rank;    /* enum mt_rank */
    char confidence;
};

/* What happened to an interval where its size and rights beside those of the row that it continues
 * do not tell: memory that was cut in pieces has not shrunk, what was joined has not grown. */
enum mt_change {
    MT_CHANGE_TOLD = 1, /* the three bits below are the answer */
    MT_CHANGE_GREW = 2,
    MT_CHANGE_SHRANK = 4,
    MT_CHANGE_PROTECTED = 8
};

/* ---- intervals: typed pieces that partition every region; the file's table `region` ---- */

struct mt_interval {
    uint64_t base;
    uint64_t end;    /* exclusive */
    uint64_t offset; /* in the file, of `base` */
    uint64_t inode;  /* 0 = none or unknown */
    uint32_t device;
    uint32_t region; /* index into the snapshot */
    uint32_t name;   /* string id of the file or label, 0 = none */
    uint32_t owner;  /* string id, 0 = none */
    uint32_t thread; /* thread id, 0 = none */
    uint32_t claim_flags;
    uint32_t region_flags;
    uint32_t protection;
    uint8_t type;
    char confidence;
    uint8_t change;       /* bits of enum mt_change */
    bool stale;           /* pages are of an earlier look: to be counted anew */
    uint8_t restless;     /* counts to go until it is no longer one whose pages come and go */
    int64_t row;          /* the recorder's row in table region, 0 = none yet */
    uint64_t recorded_ws; /* ws + private as that row says now; the recorder's */
    uint64_t recorded_swap;
    uint64_t relocated, written; /* of an image's anonymous bytes, where `explained` */
    bool explained;
    bool recorded_why;     /* the row has these two */
    struct mt_pages pages; /* last: what comparing lists reads lies close together */
};

/* ---- modules and threads, as the claimers found them ---- */

#define MT_BUILD_ID_BYTES 32

struct mt_module {
    uint64_t base;
    uint64_t end;
    uint32_t path; /* string id */
    uint8_t build_id[MT_BUILD_ID_BYTES];
    uint8_t build_id_bytes; /* 0 = none or unknown */
    int64_t row;            /* the recorder's */
};

struct mt_thread {
    uint32_t tid;
    uint32_t name;        /* string id */
    uint64_t stack_base;  /* lowest address incl. guard, 0 = unknown */
    uint64_t stack_bytes; /* incl. guard */
    uint64_t guard_bytes;
    uint64_t start_ticks; /* kernel's start time: tells apart a reused tid */
    int64_t row;          /* the recorder's */
};

/* ---- counters ---- */

enum mt_counter {
#define MT_COUNTER(name, id, text, unit, description) MT_COUNTER_##name = id,
#include "base/counter.def"
#undef MT_COUNTER
    MT_COUNTER_USER_FIRST = 40, /* of tracer_counter_add() */
    MT_COUNTER_CAPACITY = 64
};

#define MT_USER_COUNTERS (MT_COUNTER_CAPACITY - MT_COUNTER_USER_FIRST)

/* A counter of the host's own, in words. */
struct mt_counter_words {
    char name[32];
    char unit[32];
    char description[256];
};

struct mt_counters {
    uint64_t known; /* bits 1 << enum mt_counter */
    uint64_t value[MT_COUNTER_CAPACITY];
};

#endif
