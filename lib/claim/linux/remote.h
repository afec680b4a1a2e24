/* SPDX-License-Identifier: MIT */
/* Reading the memory of a process, this one or another, without disturbing it: only pages that
 * are present are read, so nothing is faulted or swapped in; a page that vanishes meanwhile is a
 * failed read, not a signal. A table of functions, so that tests feed memory of their own. */
#ifndef MT_CLAIM_LINUX_REMOTE_H
#define MT_CLAIM_LINUX_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_REMOTE_WINDOWS 32 /* remembered answers about presence */
#define MT_REMOTE_PAGES 16u  /* in each, at most 64 */

struct mt_remote;

struct mt_remote_ops {
    /* Copies all bytes or returns false. */
    bool (*copy)(struct mt_remote *r, uint64_t address, void *out, size_t bytes);
    /* A bit for each of the MT_REMOTE_PAGES from page number `first_page` that is present. */
    uint64_t (*presence)(struct mt_remote *r, uint64_t first_page);
};

struct mt_remote {
    const struct mt_remote_ops *ops;
    void *user;       /* of the functions */
    int32_t task;     /* any thread of the process that lives */
    int pagemap, mem; /* descriptors, -1 = none */
    uint64_t page_bytes;
    struct {
        uint64_t first_page;
        uint64_t bits;
        bool known;
    } windows[MT_REMOTE_WINDOWS];
};

/* pid 0 = this process; `task` is then the calling thread, which must stay alive. Never fails:
 * where memory may not be read, every read is refused. */
void mt_remote_open(struct mt_remote *out, uint32_t pid);
void mt_remote_close(struct mt_remote *r);

/* Forgets which pages were present; to be called at the start of each collection. */
void mt_remote_refresh(struct mt_remote *r);

bool mt_remote_present(struct mt_remote *r, uint64_t address);

/* Copies `bytes` (at most 64 KiB) when all their pages are present. */
bool mt_remote_read(struct mt_remote *r, uint64_t address, void *out, size_t bytes);

#endif
