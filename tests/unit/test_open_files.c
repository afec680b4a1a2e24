/* SPDX-License-Identifier: MIT */
/* Description: every data case of tests/data/linux says in its expected.json what a reader must
 * find in its maps or smaps; each statement about the text is checked. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "memtracer/memtracer.h"
#include "source/linux/linux_source.h"

#define CASES TEST_DATA_DIR "/linux"
#define KIND(name) (1u << MT_PAGE_##name)

static struct mt_snapshot s;
static struct mt_source *source;

/* ---- expected.json: one "key": value a line, entries one object after the other ---- */

struct statement {
    char key[64];
    char value[512];
};

static void unescape(char *text)
{
    char *to = text;

    for (const char *from = text; *from; from++) {
        if (*from == '\\' && from[1] == 't')
            *to++ = '\t', from++;
        else if (*from == '\\' && (from[1] == '"' || from[1] == '\\'))
            *to++ = *++from;
        else
            *to++ = *from;
    }
    *to = '\0';
}

static bool parse_statement(const char *line, struct statement *out)
{
    const char *value;
    size_t n;

    if (sscanf(line, " \"%63[^\"]\": ", out->key) != 1)
        return false;
    value = strstr(line, "\": ");
    if (!value)
        return false;
    value += 3;
    n = strcspn(value, "\n");
    while (n > 0 && (value[n - 1] == ',' || value[n - 1] == '\r'))
        n--;
    if (n > 1 && value[0] == '"') {
        value++;
        n -= 2;
    }
    snprintf(out->value, sizeof(out->value), "%.*s", (int)n, value);
    unescape(out->value);
    return true;
}

/* ---- what a statement about one entry means for a region ---- */

static uint32_t device_of(const char *text)
{
    unsigned major, minor;

    assert_int_equal(sscanf(text, "%x:%x", &major, &minor), 2);
    return major > 0xfff ? 0 : major << 20 | minor; /* region.h has no room for more */
}

static uint64_t number(const char *text)
{
    return strtoull(text, NULL, 0);
}

static const struct {
    const char *key;
    unsigned kind;
} page_statements[] = {
    {"rss_bytes", MT_PAGE_RESIDENT},
    {"pss_bytes", MT_PAGE_PSS},
    {"anonymous_bytes", MT_PAGE_ANONYMOUS},
    {"swap_bytes", MT_PAGE_SWAP},
    {"lazyfree_bytes", MT_PAGE_LAZY_FREE},
    {"anon_huge_bytes", MT_PAGE_HUGE},
    {"shared_dirty_bytes", MT_PAGE_SHARED},
    {"private_hugetlb_bytes", MT_PAGE_HUGETLB_PRIVATE},
    {"shared_hugetlb_bytes", MT_PAGE_HUGETLB_SHARED},
};

static void check_pages(const struct mt_region *r, const struct statement *t)
{
    for (unsigned i = 0; i < sizeof(page_statements) / sizeof(page_statements[0]); i++) {
        if (strcmp(page_statements[i].key, t->key) != 0)
            continue;
        assert_true(r->pages.known >> page_statements[i].kind & 1u);
        assert_true(r->pages.bytes[page_statements[i].kind] == number(t->value));
    }
}

static void check_rights(const struct mt_region *r, const char *rights)
{
    assert_int_equal(!!(r->protection & MT_PROT_READ), rights[0] == 'r');
    assert_int_equal(!!(r->protection & MT_PROT_WRITE), rights[1] == 'w');
    assert_int_equal(!!(r->protection & MT_PROT_EXECUTE), rights[2] == 'x');
    assert_int_equal(!!(r->flags & MT_REGION_SHARED), rights[3] == 's');
}

static void check_entry(const struct mt_region *r, const struct statement *t)
{
    if (!strcmp(t->key, "end"))
        assert_true(r->end == number(t->value));
    else if (!strcmp(t->key, "size_bytes"))
        assert_true(r->end - r->base == number(t->value));
    else if (!strcmp(t->key, "perms"))
        check_rights(r, t->value);
    else if (!strcmp(t->key, "offset"))
        assert_true(r->offset == number(t->value));
    else if (!strcmp(t->key, "dev"))
        assert_int_equal(r->device, device_of(t->value));
    else if (!strcmp(t->key, "inode"))
        assert_true(r->inode == number(t->value));
    else if (!strcmp(t->key, "name_as_printed"))
        assert_string_equal(mt_strings_get(s.strings, r->name, NULL), t->value);
    else if (!strcmp(t->key, "deleted"))
        assert_true(r->flags & MT_REGION_DELETED);
    else
        check_pages(r, t);
}

/* ---- and about the whole ---- */

static uint64_t sum_size(void)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < s.n_regions; i++)
        sum += s.regions[i].end - s.regions[i].base;
    return sum;
}

static uint64_t sum_pages(uint32_t kinds)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < s.n_regions; i++)
        for (unsigned kind = 0; kind < MT_PAGE_COUNT; kind++)
            if (kinds & s.regions[i].pages.known & 1u << kind)
                sum += s.regions[i].pages.bytes[kind];
    return sum;
}

static const struct {
    const char *key;
    uint32_t kinds;
} sum_facts[] = {
    {"sum_rss_bytes", KIND(RESIDENT)},
    {"rss_field_bytes", KIND(RESIDENT)},
    {"rss_bytes", KIND(RESIDENT)},
    {"pss_bytes", KIND(PSS)},
    {"sum_pss_bytes", KIND(PSS)},
    {"hugetlb_bytes", KIND(HUGETLB_PRIVATE) | KIND(HUGETLB_SHARED)},
    {"memory_held_bytes", KIND(RESIDENT) | KIND(HUGETLB_PRIVATE) | KIND(HUGETLB_SHARED)},
    {"held_bytes", KIND(RESIDENT) | KIND(SWAP)},
    {"reclaimable_anon_bytes", KIND(LAZY_FREE)},
    {"anon_huge_bytes", KIND(HUGE)},
};

static bool any_knows(unsigned kind)
{
    for (uint32_t i = 0; i < s.n_regions; i++)
        if (s.regions[i].pages.known >> kind & 1u)
            return true;
    return false;
}

static void check_fact(const struct statement *t)
{
    if (!strcmp(t->key, "entries"))
        assert_int_equal(s.n_regions, number(t->value));
    else if (!strcmp(t->key, "entries_rejected"))
        assert_int_equal(s.n_rejected, number(t->value));
    else if (!strcmp(t->key, "sum_size_bytes") || !strcmp(t->key, "size_bytes") ||
             !strcmp(t->key, "distinct_address_bytes"))
        assert_true(sum_size() == number(t->value));
    else if (!strcmp(t->key, "torn"))
        assert_int_equal(!!(s.flags & MT_SAMPLE_TORN), !strcmp(t->value, "true"));
    else if (!strcmp(t->key, "swap_bytes"))
        assert_int_equal(any_knows(MT_PAGE_SWAP), strcmp(t->value, "null") != 0);
    else if (!strcmp(t->key, "rss_known"))
        assert_int_equal(!(s.flags & MT_SAMPLE_NO_PAGES), !strcmp(t->value, "true"));
    for (unsigned i = 0; i < sizeof(sum_facts) / sizeof(sum_facts[0]); i++)
        if (!strcmp(sum_facts[i].key, t->key))
            assert_true(sum_pages(sum_facts[i].kinds) == number(t->value));
}

/* ---- the cases ---- */

static const struct mt_region *region_at(uint64_t base)
{
    uint32_t i = mt_snapshot_find(&s, base);

    assert_true(i < s.n_regions);
    assert_true(s.regions[i].base == base);
    return &s.regions[i];
}

static unsigned check_case(const char *name)
{
    char path[512], line[1024];
    const struct mt_region *r = NULL;
    unsigned n = 0;
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s/expected.json", CASES, name);
    file = fopen(path, "r");
    assert_non_null(file);
    for (; fgets(line, sizeof(line), file); n++) {
        struct statement t;
        size_t indent = strspn(line, " ");

        if (!parse_statement(line, &t))
            continue;
        if (indent == 3 && !strcmp(t.key, "start"))
            r = region_at(number(t.value));
        else if (indent == 3 && r)
            check_entry(r, &t);
        else if (indent == 2)
            check_fact(&t);
    }
    fclose(file);
    return n;
}

static int open_case(const char *name, bool pages)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%s", CASES, name);
    if (mt_source_open_files(path, &source))
        return -1;
    return source->ops->list(source, &s, pages);
}

static bool has_text(const char *name)
{
    char maps[512], smaps[512];

    snprintf(maps, sizeof(maps), "%s/%s/maps", CASES, name);
    snprintf(smaps, sizeof(smaps), "%s/%s/smaps", CASES, name);
    return name[0] != '.' && (!access(maps, R_OK) || !access(smaps, R_OK));
}

static void every_case_is_read_as_it_says(void **state)
{
    DIR *dir = opendir(CASES);
    struct dirent *entry;
    unsigned n = 0;

    (void)state;
    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        if (!has_text(entry->d_name))
            continue;
        assert_int_equal(open_case(entry->d_name, true), TRACER_OK);
        assert_true(check_case(entry->d_name) > 5);
        source->ops->close(source);
        n++;
    }
    closedir(dir);
    assert_true(n >= 29);
}

static void absent_keys_are_unknown(void **state)
{
    (void)state;
    assert_int_equal(open_case("A10-oldkernel", true), TRACER_OK);
    for (uint32_t i = 0; i < s.n_regions; i++) {
        assert_int_equal(s.regions[i].pages.known,
                         KIND(RESIDENT) | KIND(PSS) | KIND(SHARED) | KIND(SWAP));
        assert_false(s.regions[i].flags & MT_REGION_FLAGS_KNOWN);
    }
    source->ops->close(source);
}

static void without_pages_none_are_told(void **state)
{
    (void)state;
    assert_int_equal(open_case("E01-arenas", false), TRACER_OK);
    for (uint32_t i = 0; i < s.n_regions; i++)
        assert_int_equal(s.regions[i].pages.known, 0);
    assert_false(s.flags & MT_SAMPLE_NO_PAGES);
    source->ops->close(source);
}

static void A16_maps_alone_has_no_pages(void **state)
{
    (void)state;
    assert_int_equal(open_case("A01-spaces", true), TRACER_OK);
    assert_true(s.flags & MT_SAMPLE_NO_PAGES);
    source->ops->close(source);
}

static ssize_t (*real_read)(int, void *, size_t, off_t);
static unsigned n_reads;

static ssize_t fail_the_third(int fd, void *to, size_t bytes, off_t at)
{
    if (++n_reads == 3) {
        errno = EIO;
        return -1;
    }
    return real_read(fd, to, bytes < 100 ? bytes : 100, at);
}

/* Half a list would look like half the memory given back. */
static void an_error_midway_is_no_list(void **state)
{
    struct mt_linux_source *linux_source;

    (void)state;
    assert_int_equal(open_case("A23-chunks", false), TRACER_OK);
    linux_source = (struct mt_linux_source *)(void *)source;
    real_read = linux_source->lines.read;
    linux_source->lines.read = fail_the_third;
    assert_int_equal(source->ops->list(source, &s, false), TRACER_EIO);
    assert_int_equal(s.n_regions, 0);
    assert_int_equal(source->ops->list(source, &s, false), TRACER_OK);
    assert_int_equal(s.n_regions, 60);
    source->ops->close(source);
}

static void a_directory_without_lists_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mt_source_open_files(CASES, &source), TRACER_EIO);
    assert_int_equal(mt_source_open_files(CASES "/none", &source), TRACER_EIO);
}

static int begin(void **state)
{
    struct mt_strings *strings;

    (void)state;
    return mt_strings_new(1024, 65536, &strings) || mt_snapshot_init(&s, strings, 128);
}

static int end(void **state)
{
    (void)state;
    mt_strings_free(s.strings);
    mt_snapshot_release(&s);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_is_read_as_it_says),
        cmocka_unit_test(absent_keys_are_unknown),
        cmocka_unit_test(without_pages_none_are_told),
        cmocka_unit_test(A16_maps_alone_has_no_pages),
        cmocka_unit_test(an_error_midway_is_no_list),
        cmocka_unit_test(a_directory_without_lists_is_refused),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
