/* SPDX-License-Identifier: MIT */
/* Description: every data case of tests/data/linux says of its mappings which kind of memory they
 * are; the rules, without anybody's claims, give each the type of that kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/error.h"
#include "classify/classify.h"
#include "source/source.h"

#define CASES TEST_DATA_DIR "/linux"

static struct mt_snapshot s;
static struct mt_interval_list list;

/* Kinds are coarser than types; zero-initialised data is "anon" and a guard "reserved" to who
 * sees one line only. */
static const struct {
    const char *kind;
    uint32_t types; /* bits 1 << enum mt_type */
} kinds[] = {
    {"anon", 1u << MT_TYPE_PRIVATE | 1u << MT_TYPE_IMAGE},
    {"reserved", 1u << MT_TYPE_PRIVATE | 1u << MT_TYPE_UNUSABLE},
    {"heap", 1u << MT_TYPE_HEAP},
    {"stack", 1u << MT_TYPE_STACK},
    {"image", 1u << MT_TYPE_IMAGE},
    {"special", 1u << MT_TYPE_IMAGE},
    {"file", 1u << MT_TYPE_MAPPED_FILE},
    {"shared", 1u << MT_TYPE_SHAREABLE},
    {"hugetlb", 1u << MT_TYPE_SHAREABLE | 1u << MT_TYPE_PRIVATE},
    {"device", 1u << MT_TYPE_DEVICE},
    {"unknown", 1u << MT_TYPE_PRIVATE},
};

static uint32_t types_of(const char *kind)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (!strcmp(kinds[i].kind, kind))
            return kinds[i].types;
    fail_msg("no such kind: %s", kind);
    return 0;
}

/* One entry of a case: where, and what it may be. */
struct entry {
    uint64_t base;
    uint32_t types; /* 0 = not said */
    bool reserved;
};

static void check_entry(const char *name, const struct entry *e)
{
    for (uint32_t i = 0; i < list.n; i++) {
        const struct mt_interval *v = &list.items[i];

        if (v->base != e->base)
            continue;
        if (!(e->types >> v->type & 1u))
            fail_msg("%s: %llx is of type %u", name, (unsigned long long)e->base, v->type);
        if (e->reserved && !(v->claim_flags & (MT_CLAIM_RESERVED | MT_CLAIM_GUARD)))
            fail_msg("%s: %llx is not reserved", name, (unsigned long long)e->base);
    }
}

/* A line of an entry: its start, its kind, a kind that is right as well. */
static void take_line(const char *line, struct entry *e)
{
    char text[64];

    if (sscanf(line, "   \"start\": \"%63[^\"]\"", text) == 1) {
        *e = (struct entry){.base = strtoull(text, NULL, 0)};
    } else if (sscanf(line, "   \"kind\": \"%63[^\"]\"", text) == 1) {
        e->types |= types_of(text);
        e->reserved = !strcmp(text, "reserved");
    } else if (strspn(line, " ") == 4 && sscanf(line, "    \"%63[a-z]\"%*1[,\n]", text) == 1 &&
               !strchr(line, ':')) {
        e->types |= types_of(text);
        e->reserved = false;
    }
}

/* Returns how many mappings were checked. */
static unsigned check_case(const char *name)
{
    struct entry e = {.types = 0};
    char path[512], line[1024];
    unsigned n = 0;
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s/expected.json", CASES, name);
    file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        take_line(line, &e);
        if (strncmp(line, "  }", 3) != 0 || !e.types)
            continue;
        check_entry(name, &e);
        e.types = 0;
        n++;
    }
    fclose(file);
    return n;
}

static unsigned run_case(const char *name)
{
    struct mt_source *source;
    uint32_t scratch[1];
    char path[512];
    unsigned n;

    snprintf(path, sizeof(path), "%s/%s", CASES, name);
    assert_int_equal(mt_source_open_files(path, &source), TRACER_OK);
    assert_int_equal(source->ops->list(source, &s, true), TRACER_OK);
    mt_classify_overlay(&s, NULL, 0, scratch, &list);
    n = check_case(name);
    source->ops->close(source);
    return n;
}

/* Some cases are of a page scan only. */
static bool is_list(const char *name)
{
    char maps[512], smaps[512], expected[512];

    snprintf(maps, sizeof(maps), "%s/%s/maps", CASES, name);
    snprintf(smaps, sizeof(smaps), "%s/%s/smaps", CASES, name);
    snprintf(expected, sizeof(expected), "%s/%s/expected.json", CASES, name);
    return name[0] != '.' && !access(expected, R_OK) &&
           (!access(maps, R_OK) || !access(smaps, R_OK));
}

static void every_mapping_has_the_type_of_its_kind(void **state)
{
    DIR *dir = opendir(CASES);
    struct dirent *entry;
    unsigned n = 0;

    (void)state;
    assert_non_null(dir);
    while ((entry = readdir(dir)))
        if (is_list(entry->d_name))
            n += run_case(entry->d_name);
    closedir(dir);
    assert_true(n >= 60);
}

static int begin(void **state)
{
    struct mt_strings *strings;

    (void)state;
    return mt_strings_new(4096, 1 << 20, &strings) || mt_snapshot_init(&s, strings, 4096) ||
                   mt_interval_list_init(&list, 8192)
               ? -1
               : 0;
}

static int end(void **state)
{
    (void)state;
    mt_strings_free(s.strings);
    mt_snapshot_release(&s);
    mt_interval_list_release(&list);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_mapping_has_the_type_of_its_kind, begin, end)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
