/* SPDX-License-Identifier: MIT */
/* The kernel's page scan (PAGEMAP_SCAN, Linux 6.7) as it crosses the system call: declared here
 * because the headers of older distributions lack it. Numbers are the kernel's ABI. */
#ifndef MT_SOURCE_LINUX_SCAN_ABI_H
#define MT_SOURCE_LINUX_SCAN_ABI_H

#include <stdint.h>
#include <sys/ioctl.h>

#define MT_SCAN_FILE (UINT64_C(1) << 2) /* never ask: it makes the kernel touch every page */
#define MT_SCAN_PRESENT (UINT64_C(1) << 3)
#define MT_SCAN_SWAPPED (UINT64_C(1) << 4) /* guard markers too */
#define MT_SCAN_ZERO (UINT64_C(1) << 5)    /* the shared page of zeros, which is no memory */
#define MT_SCAN_HUGE (UINT64_C(1) << 6)
#define MT_SCAN_GUARD (UINT64_C(1) << 8) /* since 6.16 or so */

struct mt_scan_region {
    uint64_t start;
    uint64_t end;
    uint64_t categories;
};

struct mt_scan_arg {
    uint64_t size; /* of this struct */
    uint64_t flags;
    uint64_t start;
    uint64_t end;
    uint64_t walk_end; /* out; stale at times: do not use */
    uint64_t vec;
    uint64_t vec_len;
    uint64_t max_pages;
    uint64_t category_inverted;
    uint64_t category_mask;
    uint64_t category_anyof_mask;
    uint64_t return_mask;
};

#define MT_SCAN_IOCTL _IOWR('f', 16, struct mt_scan_arg)

#endif
