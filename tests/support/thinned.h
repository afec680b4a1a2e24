/* SPDX-License-Identifier: MIT */
/* tests: a recorder (recorded.h) that thins early, and values without a pattern to feed it. */
#ifndef TESTS_SUPPORT_THINNED_H
#define TESTS_SUPPORT_THINNED_H

#include "support/recorded.h"

static inline int64_t noise(unsigned i, unsigned below)
{
    unsigned x = i * 2654435761u;

    return (int64_t)((x ^ x >> 15) % below);
}

static inline void commit(void)
{
    if (mt_recorder_commit(recorder))
        fail_msg("%s", mt_error_detail());
}

static inline void keep_newest(int n)
{
    char sql[160];

    opened();
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    snprintf(sql, sizeof(sql),
             "UPDATE setting SET value = %d WHERE name LIKE '%%keep%%' OR "
             "name = 'thin_after_samples'",
             n);
    number(sql);
    opened();
}

#endif
