/* SPDX-License-Identifier: MIT */
/* What VmFlags alone tell and a region's type hangs on, kept from one list of smaps to the next:
 * maps does not print it, and a type must not come and go with the interface that was read. */
#ifndef MT_SOURCE_LINUX_KEPT_FLAGS_H
#define MT_SOURCE_LINUX_KEPT_FLAGS_H

#include "base/snapshot.h"

#define MT_KEPT_FLAGS_MOST 32768u /* regions with such flags; most processes have one */

struct mt_kept_flags {
    uint32_t n;
    bool cut; /* more regions had flags than there are places */
    struct mt_flagged {
        uint64_t base, end;
        uint32_t name;
        uint32_t protection;
        uint32_t flags;          /* MT_REGION_… */
    } items[MT_KEPT_FLAGS_MOST]; /* by address */
};

/* Learns from a list that has flags, and gives them to the regions of one that has none where the
 * mapping still stands. MT_SAMPLE_TRUNCATED is set in a list that lacks some for want of places. */
void mt_kept_flags_pass(struct mt_kept_flags *k, struct mt_snapshot *s);

#endif
