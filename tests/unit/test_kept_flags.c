/* SPDX-License-Identifier: MIT */
/* Description: a mapping that stands has the flags of the last list of smaps also in lists from
 * maps; another mapping at its place has not; what finds no place is told. */
#include "support/build.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "source/linux/kept_flags.h"

static struct mt_kept_flags *kept;

static int begin(void **state)
{
    kept = calloc(1, sizeof(*kept));
    return !kept || build_begin(state) ? -1 : 0;
}

static int end(void **state)
{
    free(kept);
    return build_end(state);
}

/* A list of one region below the stack of the program, as smaps tells it. */
static void list_smaps(uint32_t flags)
{
    built.n_regions = 0;
    build_region(0x10000, 0x20000, "rw-p", "")->flags |= flags | MT_REGION_FLAGS_KNOWN;
    build_region(0x30000, 0x40000, "rw-p", "[stack]")->flags |=
        MT_REGION_GROWSDOWN | MT_REGION_FLAGS_KNOWN;
    mt_kept_flags_pass(kept, &built);
}

/* The flags of one region in a list from maps. */
static uint32_t flags_in_maps(uint64_t base, uint64_t stop, const char *rights, const char *name)
{
    built.n_regions = 0;
    build_region(base, stop, rights, name);
    build_region(0x30000, 0x40000, "rw-p", "[stack]");
    mt_kept_flags_pass(kept, &built);
    assert_int_equal(built.regions[1].flags, MT_REGION_GROWSDOWN);
    assert_int_equal(built.flags, 0);
    return built.regions[0].flags;
}

static void a_mapping_that_stands(void **state)
{
    static const uint32_t flags[] = {MT_REGION_SHADOW_STACK, MT_REGION_UFFD, MT_REGION_DEVICE,
                                     MT_REGION_MIXED, MT_REGION_HUGETLB};

    (void)state;
    for (size_t i = 0; i < MT_COUNT_OF(flags); i++) {
        list_smaps(flags[i]);
        for (unsigned again = 0; again < 2; again++)
            assert_int_equal(flags_in_maps(0x10000, 0x20000, "rw-p", ""), flags[i]);
    }
    list_smaps(0);
    assert_int_equal(flags_in_maps(0x10000, 0x20000, "rw-p", ""), 0);
}

static void another_mapping_at_its_place(void **state)
{
    (void)state;
    list_smaps(MT_REGION_UFFD);
    assert_int_equal(flags_in_maps(0xf000, 0x20000, "rw-p", ""), 0);
    assert_int_equal(flags_in_maps(0x10000, 0x21000, "rw-p", ""), 0);
    assert_int_equal(flags_in_maps(0x10000, 0x1f000, "rw-p", ""), 0);
    assert_int_equal(flags_in_maps(0x10000, 0x20000, "r--p", ""), 0);
    assert_int_equal(flags_in_maps(0x10000, 0x20000, "rw-s", ""), MT_REGION_SHARED);
    assert_int_equal(flags_in_maps(0x10000, 0x20000, "rw-p", "[anon:pool]"), 0);
    assert_int_equal(flags_in_maps(0x10000, 0x20000, "rw-p", ""), MT_REGION_UFFD);
}

static void a_stack_grows_downwards(void **state)
{
    (void)state;
    list_smaps(MT_REGION_GROWSDOWN);
    assert_int_equal(flags_in_maps(0xc000, 0x20000, "rw-p", ""), MT_REGION_GROWSDOWN);
    assert_int_equal(flags_in_maps(0x11000, 0x20000, "rw-p", ""), 0);
    assert_int_equal(flags_in_maps(0x10000, 0x21000, "rw-p", ""), 0);
}

/* `n` regions, each apart from the next. */
static void list_many(struct mt_snapshot *s, uint32_t n, uint32_t flags)
{
    s->flags = 0;
    for (s->n_regions = 0; s->n_regions < n; s->n_regions++) {
        uint64_t base = (s->n_regions + 1) * UINT64_C(0x2000);

        s->regions[s->n_regions] =
            (struct mt_region){.base = base, .end = base + 0x1000, .flags = flags};
    }
    mt_kept_flags_pass(kept, s);
}

static void more_than_there_are_places(void **state)
{
    struct mt_snapshot s;

    (void)state;
    assert_int_equal(mt_snapshot_init(&s, built.strings, MT_KEPT_FLAGS_MOST + 1), 0);
    for (uint32_t more = 0; more < 2; more++) {
        uint32_t n = MT_KEPT_FLAGS_MOST + more;

        list_many(&s, n, MT_REGION_UFFD | MT_REGION_FLAGS_KNOWN);
        assert_int_equal(s.flags, 0); /* this list has them all */
        list_many(&s, n, 0);
        assert_int_equal(s.flags, more ? MT_SAMPLE_TRUNCATED : 0);
        assert_int_equal(s.regions[MT_KEPT_FLAGS_MOST - 1].flags, MT_REGION_UFFD);
    }
    mt_snapshot_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_mapping_that_stands, begin, end),
        cmocka_unit_test_setup_teardown(another_mapping_at_its_place, begin, end),
        cmocka_unit_test_setup_teardown(a_stack_grows_downwards, begin, end),
        cmocka_unit_test_setup_teardown(more_than_there_are_places, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
