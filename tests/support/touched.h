/* SPDX-License-Identifier: MIT */
/* Memory of which a test knows how many pages it touched, and the source that must find them. */
#ifndef TEST_SUPPORT_TOUCHED_H
#define TEST_SUPPORT_TOUCHED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "memtracer/memtracer.h"
#include "source/linux/linux_source.h"

#ifndef MADV_FREE
#define MADV_FREE 8
#endif
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

#define N_REGIONS 4096
#define N_PAGES 512
#define SWAP_AND_MORE                                                                              \
    (1u << MT_PAGE_RESIDENT | 1u << MT_PAGE_ANONYMOUS | 1u << MT_PAGE_SHARED |                     \
     1u << MT_PAGE_SWAP | 1u << MT_PAGE_HUGE | 1u << MT_PAGE_HUGETLB_PRIVATE |                     \
     1u << MT_PAGE_HUGETLB_SHARED)

static struct mt_snapshot s;
static struct mt_source *source;
static struct mt_interval *intervals;
static uint64_t page;

static inline char *map(uint64_t pages, int protection, int flags, int fd)
{
    char *p = mmap(NULL, pages * page, protection, flags, fd, 0);

    assert_true(p != MAP_FAILED);
    return p;
}

static inline char *map_anonymous(uint64_t pages)
{
    return map(pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static inline void touch(char *p, uint64_t pages, uint64_t step)
{
    for (uint64_t i = 0; i < pages; i += step)
        *(volatile char *)(p + i * page) = 1;
}

static inline void look(const char *p, uint64_t pages)
{
    for (uint64_t i = 0; i < pages; i++)
        (void)*(const volatile char *)(p + i * page);
}

static inline int file_of(uint64_t pages)
{
    char path[] = "/tmp/memtracer-count-XXXXXX";
    char *zeros = calloc(pages, page);
    int fd = mkstemp(path);

    assert_true(fd >= 0 && zeros);
    unlink(path);
    assert_int_equal(write(fd, zeros, pages * page), pages * page);
    free(zeros);
    return fd;
}

/* One interval, cut out of the region that holds [p, p + pages). */
static inline struct mt_interval count(const char *p, uint64_t pages)
{
    struct mt_interval v = {.base = (uintptr_t)p, .end = (uintptr_t)p + pages * page};
    uint32_t next = 0;

    v.region = mt_snapshot_find(&s, v.base);
    assert_true(v.region < s.n_regions);
    assert_true(s.regions[v.region].end >= v.end);
    assert_int_equal(source->ops->count(source, &s, &v, 1, &next, 0), TRACER_OK);
    assert_int_equal(next, 1);
    return v;
}

static inline void list(bool pages)
{
    assert_int_equal(source->ops->list(source, &s, pages), TRACER_OK);
}

static inline bool can_scan(void)
{
    return ((struct mt_linux_source *)(void *)source)->count.scan.works;
}

static inline void assert_pages(const struct mt_interval *v, unsigned kind, uint64_t pages)
{
    assert_true(v->pages.known >> kind & 1u);
    assert_int_equal(v->pages.bytes[kind], pages * page);
}

/* [p, p + pages) holds so many resident and anonymous pages; and when it is a region of its own,
 * smaps says the same of each kind that both know. */
static inline void assert_counted(const char *p, uint64_t pages, uint64_t resident,
                                  uint64_t anonymous)
{
    for (unsigned with_smaps = 0; with_smaps < 2; with_smaps++) {
        const struct mt_region *r;
        struct mt_interval v;
        uint32_t both;

        list(with_smaps);
        v = count(p, pages);
        assert_pages(&v, MT_PAGE_RESIDENT, resident);
        assert_pages(&v, MT_PAGE_ANONYMOUS, anonymous);
        r = &s.regions[v.region];
        if (!with_smaps || r->base != v.base || r->end != v.end)
            continue;
        both = r->pages.known & v.pages.known & SWAP_AND_MORE;
        for (unsigned kind = 0; kind < MT_PAGE_COUNT; kind++)
            if (both >> kind & 1u)
                assert_int_equal(r->pages.bytes[kind], v.pages.bytes[kind]);
    }
}

static inline int touched_begin(void **state)
{
    struct mt_strings *strings;

    (void)state;
    page = (uint64_t)sysconf(_SC_PAGESIZE);
    intervals = calloc(N_REGIONS, sizeof(*intervals));
    return !intervals || mt_strings_new(4096, 1 << 20, &strings) ||
           mt_snapshot_init(&s, strings, N_REGIONS) || mt_source_open_process(0, &source);
}

static inline int touched_end(void **state)
{
    (void)state;
    source->ops->close(source);
    mt_strings_free(s.strings);
    mt_snapshot_release(&s);
    free(intervals);
    return 0;
}

#endif
