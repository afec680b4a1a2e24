/* SPDX-License-Identifier: MIT */
/* A list of this process that is followed, and the one it must be equal to, which a second source
 * reads. */
#ifndef TEST_SUPPORT_FOLLOWED_H
#define TEST_SUPPORT_FOLLOWED_H

#include <stdio.h>
#include <string.h>

#include "support/touched.h"
#include "base/os/os.h"
#include "source/linux/mapping_query.h"

static struct mt_source *second;
static struct mt_snapshot fresh;
static unsigned n_followed;

static inline struct mt_linux_source *of(struct mt_source *any)
{
    return (struct mt_linux_source *)(void *)any;
}

static inline void read_sizes(void)
{
    struct mt_counters c;

    assert_int_equal(source->ops->counters(source, &c), TRACER_OK);
}

/* A list that may be followed, however slow this machine is. */
static inline void read_surely(void)
{
    read_sizes();
    list(false);
    if (s.keep_until_ns)
        s.keep_until_ns = INT64_MAX;
    read_sizes();
}

static inline void assert_right(void)
{
    assert_int_equal(second->ops->list(second, &fresh, false), TRACER_OK);
    assert_int_equal(s.n_regions, fresh.n_regions);
    for (uint32_t i = 0; i < s.n_regions; i++)
        assert_memory_equal(&s.regions[i], &fresh.regions[i], sizeof(s.regions[i]));
}

static inline bool follow(void)
{
    bool followed;

    read_sizes();
    followed = source->ops->follow(source, &s);
    n_followed += followed;
    read_sizes();
    return followed;
}

/* The text that goes with the list must go with it still. */
static inline void assert_followed(void)
{
    assert_true(follow());
    assert_right();
    list(false);
    assert_right();
    read_surely();
}

static inline void assert_refused(void)
{
    assert_false(follow());
    list(false);
    assert_right();
    read_surely();
}

/* Older kernels have no such question: then nothing is followed, and every list is read. */
static inline int followed_begin(void **state)
{
    struct mt_region r;

    (void)state;
    page = mt_os_page_bytes();
    if (mt_source_open_process(0, &source) || mt_source_open_process(0, &second) ||
        mt_snapshot_init(&fresh, s.strings, N_REGIONS))
        return -1;
    if (mt_mapping_query(of(source)->maps, (uintptr_t)&r, &r) >= 0)
        return 0;
    read_surely();
    read_sizes();
    if (!source->ops->follow(source, &s)) /* nothing changed: no question was needed */
        return -1;
    print_message("not followed here: the kernel has no PROCMAP_QUERY (6.11)\n");
    exit(77);
}

static inline int followed_end(void **state)
{
    (void)state;
    source->ops->close(source);
    second->ops->close(second);
    mt_snapshot_release(&fresh);
    return 0;
}

static inline int followed_open(void **state)
{
    struct mt_strings *names;

    (void)state;
    return mt_strings_new(4096, 1 << 20, &names) || mt_snapshot_init(&s, names, N_REGIONS);
}

static inline int followed_close(void **state)
{
    struct mt_strings *names = s.strings;

    (void)state;
    mt_snapshot_release(&s);
    mt_strings_free(names);
    return 0;
}

#endif
