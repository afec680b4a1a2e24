/* SPDX-License-Identifier: MIT */
/* Description: whole address spaces, from the kernel's text to the table. Each folder
 * data/linux/claim-* has a file `case`: lines of maps and smaps as the kernel prints them, words
 * that lie in memory, what is known of threads and modules, and what has to come out (KiB, by
 * type and column; pieces with confidence and flags). The numbers are those of the processes the
 * cases were taken from, or follow from the kernel's documents; not what this code printed. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/fake_memory.h"

#include "claim/linux/stacks.h"
#include "classify/classify.h"
#include "source/linux/maps.h"
#include "source/linux/region_list.h"
#include "source/linux/smaps.h"

#define WORDS_MOST 8
#define PAGES_MOST 4096
#define CASES_LEAST 25

enum { PRESENT, SWAPPED, GUARDED, N_MARKS };

static struct {
    const char *name;
    unsigned line, n_expected;
    struct mt_smaps smaps;
    struct mt_descriptor_layout layout;
    uint64_t marks[N_MARKS][PAGES_MOST];
    unsigned n_marks[N_MARKS];
    struct mt_interval_list pieces;
    struct mt_levels levels;
    uint32_t sample_flags;
    bool done;
} t;

static uint32_t intern(const char *text)
{
    return mt_strings_add(built.strings, text, strlen(text));
}

static uint64_t hex(const char *text)
{
    return strtoull(text, NULL, 16);
}

/* ---- what is there ---- */

static void add_map(const char *line, size_t n)
{
    struct mt_region r;
    const char *name;
    size_t bytes;

    if (!mt_maps_parse(line, n, &r, &name, &bytes))
        fail_msg("%s:%u: no line of maps", t.name, t.line);
    mt_smaps_open(&t.smaps, mt_region_list_add(&built, &r, name, bytes));
}

static void set_allocator(char **w)
{
    static const char *const names[MT_ALLOCATOR_COUNT] = {
        [MT_ALLOCATOR_UNKNOWN] = "none",
        [MT_ALLOCATOR_GLIBC] = "glibc",
        [MT_ALLOCATOR_MUSL] = "musl",
        [MT_ALLOCATOR_JEMALLOC] = "jemalloc",
        [MT_ALLOCATOR_MIMALLOC] = "mimalloc",
        [MT_ALLOCATOR_GPERFTOOLS] = "gperftools",
        [MT_ALLOCATOR_ASAN] = "asan",
    };

    for (int i = 0; i < MT_ALLOCATOR_COUNT; i++)
        if (names[i] && !strcmp(names[i], w[1]))
            fake_look.allocator = (enum mt_allocator)i;
}

static void add_module(char **w)
{
    fake_set.modules[fake_set.n_modules++].path = intern(w[1]);
}

/* Claims of the walk over loaded objects, which reads headers of real files. */
static void add_image(char **w)
{
    mt_claim_add(&fake_set, &(struct mt_claim){.base = hex(w[1]),
                                               .end = hex(w[2]),
                                               .type = MT_TYPE_IMAGE,
                                               .rank = MT_RANK_IMAGE,
                                               .confidence = MT_CONFIDENCE_A});
}

static void add_word(char **w)
{
    fake_poke(hex(w[1]), hex(w[2]));
}

static void mark(unsigned kind, char **w)
{
    for (unsigned i = 0; i < (w[2][0] ? (unsigned)atol(w[2]) : 1u); i++)
        t.marks[kind][t.n_marks[kind]++] = hex(w[1]) + i * FAKE_PAGE;
}

static void mark_present(char **w)
{
    mark(PRESENT, w);
}

static void mark_swapped(char **w)
{
    mark(SWAPPED, w);
}

static void mark_guarded(char **w)
{
    mark(GUARDED, w);
}

/* ---- threads, once the map is complete ---- */

static void claim_stack(const struct mt_stack *s, uint32_t tid, uint32_t flags, char confidence)
{
    struct mt_thread thread = {.tid = tid,
                               .stack_base = s->base,
                               .stack_bytes = s->bytes,
                               .guard_bytes = s->guard_bytes};

    mt_stack_claim(&fake_look, &thread, intern("thread"), flags, confidence);
}

/* A thread by the head of its robust list; tid 0 = one that has ended. */
static void find_thread(char **w)
{
    uint32_t tid = (uint32_t)atol(w[2]);
    struct mt_stack s;

    if (!mt_descriptor_stack(&fake_look, &t.layout, hex(w[1]), tid, &s))
        fail_msg("%s:%u: no descriptor", t.name, t.line);
    claim_stack(&s, tid, tid ? 0 : MT_CLAIM_CACHED, MT_CONFIDENCE_A);
}

/* A thread by its stack pointer. */
static void find_pointer(char **w)
{
    struct mt_stack s;

    if (!mt_stack_above_guard(&fake_look, mt_snapshot_find(&built, hex(w[1])), &s))
        fail_msg("%s:%u: no stack there", t.name, t.line);
    claim_stack(&s, 1, 0, MT_CONFIDENCE_B);
}

/* ---- the stages ---- */

static uint64_t count_marks(unsigned kind, const struct mt_interval *v)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < t.n_marks[kind]; i++)
        n += t.marks[kind][i] >= v->base && t.marks[kind][i] < v->end;
    return n * FAKE_PAGE;
}

/* What the source counts of pieces. */
static void count_pieces(void)
{
    for (uint32_t i = 0; i < t.pieces.n; i++) {
        struct mt_interval *v = &t.pieces.items[i];

        if (v->pages.known)
            continue;
        v->pages.known = 1u << MT_PAGE_RESIDENT | 1u << MT_PAGE_SWAP | 1u << MT_PAGE_GUARD;
        v->pages.bytes[MT_PAGE_RESIDENT] = count_marks(PRESENT, v);
        v->pages.bytes[MT_PAGE_SWAP] = count_marks(SWAPPED, v);
        v->pages.bytes[MT_PAGE_GUARD] = count_marks(GUARDED, v);
    }
}

static void run(char **w)
{
    struct mt_counters none = {.known = 0};
    struct mt_names *names;
    struct mt_arenas *arenas;
    struct mt_chunks *chunks;
    uint32_t scratch[512];

    (void)w;
    assert_int_equal(mt_names_new(built.strings, &names), 0);
    assert_int_equal(mt_arenas_new(&arenas) | mt_chunks_new(&chunks), 0);
    mt_names_collect(names, &fake_look);
    mt_runtimes_collect(&fake_look);
    mt_allocator_collect(&fake_look);
    mt_heap_brk_collect(&fake_look);
    mt_stacks_show_shapes(&fake_look);
    mt_arenas_collect(arenas, &fake_look);
    mt_chunks_collect(chunks, &fake_look);
    mt_classify_overlay(&built, fake_set.claims, fake_set.n_claims, scratch, &t.pieces);
    count_pieces();
    mt_classify_settle(&built, &t.pieces);
    t.sample_flags = mt_classify_totals(&built, &t.pieces, &none, &t.levels);
    mt_names_free(names);
    mt_arenas_free(arenas);
    mt_chunks_free(chunks);
    t.done = true;
}

static void map_is_complete(char **w)
{
    (void)w;
    mt_smaps_open(&t.smaps, NULL);
    mt_region_list_finish(&built, 0x10000);
    mt_remote_refresh(&fake_remote);
    fake_look.round++;
}

/* ---- what has to come out ---- */

static unsigned type_by_name(const char *name)
{
    for (unsigned i = 1; i < MT_TYPE_CAPACITY; i++)
        if (mt_type_name((uint8_t)i) && !strcmp(mt_type_name((uint8_t)i), name))
            return i;
    fail_msg("%s:%u: no type %s", t.name, t.line, name);
    return 0;
}

static unsigned column_by_name(const char *name)
{
    static const char *const names[] = {
#define MT_COLUMN(id, number, column, field, unit, description) [number] = #column,
#include "base/state_column.def"
#undef MT_COLUMN
    };

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(names[i], name))
            return i;
    fail_msg("%s:%u: no column %s", t.name, t.line, name);
    return 0;
}

/* expect TYPE COLUMN KIB|unknown; blocks are a count. */
static void expect_level(char **w)
{
    const struct mt_type_level *l = &t.levels.type[type_by_name(w[1])];
    unsigned c = column_by_name(w[2]);
    bool known = l->known >> c & 1;
    int64_t unit = c == MT_COLUMN_BLOCKS ? 1 : 1024;

    if (known != (strcmp(w[3], "unknown") != 0) || (known && l->value[c] != atoll(w[3]) * unit))
        fail_msg("%s:%u: %s %s is %s%lld", t.name, t.line, w[1], w[2], known ? "" : "unknown, ",
                 (long long)(l->value[c] / unit));
    t.n_expected++;
}

/* piece BASE END TYPE CONFIDENCE FLAGS (of MT_CLAIM_…, a number) */
static void expect_piece(char **w)
{
    for (uint32_t i = 0; i < t.pieces.n; i++) {
        const struct mt_interval *v = &t.pieces.items[i];

        if (v->base != hex(w[1]))
            continue;
        if (v->end != hex(w[2]) || v->type != type_by_name(w[3]) || v->confidence != w[4][0] ||
            v->claim_flags != (uint32_t)atol(w[5]))
            fail_msg("%s:%u: piece ends at %llx, is %s %c %u", t.name, t.line,
                     (unsigned long long)v->end, mt_type_name(v->type), v->confidence,
                     v->claim_flags);
        t.n_expected++;
        return;
    }
    fail_msg("%s:%u: no piece begins there", t.name, t.line);
}

/* ---- a case ---- */

static const struct {
    const char *word;
    void (*act)(char **words);
} commands[] = {
    {"allocator", set_allocator}, {"module", add_module},     {"image", add_image},
    {"word", add_word},           {"present", mark_present},  {"swapped", mark_swapped},
    {"guarded", mark_guarded},    {"mapped", map_is_complete}, {"thread", find_thread},
    {"pointer", find_pointer},    {"classify", run},          {"expect", expect_level},
    {"piece", expect_piece},
};

static void obey(char *line)
{
    char *words[WORDS_MOST], *next = line;

    for (int i = 0; i < WORDS_MOST; i++) {
        words[i] = next;
        next += strcspn(next, " ");
        while (*next == ' ')
            *next++ = '\0';
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (!strcmp(words[0], commands[i].word)) {
            commands[i].act(words);
            return;
        }
    fail_msg("%s:%u: what is %s", t.name, t.line, words[0]);
}

static void read_case(FILE *f)
{
    char line[512];

    while (fgets(line, sizeof(line), f)) {
        size_t n = strcspn(line, "\n");

        line[n] = '\0';
        t.line++;
        if (n == 0 || line[0] == '#')
            continue;
        if (strspn(line, "0123456789abcdef") == strcspn(line, "-") && strchr(line, '-'))
            add_map(line, n);
        else if (!mt_smaps_line(&t.smaps, line, n))
            obey(line);
    }
}

static void run_case(const char *folder)
{
    char path[512];
    FILE *f;

    memset(&t, 0, sizeof(t));
    t.name = folder;
    snprintf(path, sizeof(path), "%s/linux/%s/case", TEST_DATA_DIR, folder);
    f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fake_begin(NULL), 0);
    assert_int_equal(mt_interval_list_init(&t.pieces, 256), 0);
    mt_region_list_begin(&built);
    read_case(f);
    fclose(f);
    assert_true(t.done && t.n_expected > 0);
    assert_int_equal(t.sample_flags, 0);
    mt_interval_list_release(&t.pieces);
    fake_end(NULL);
}

static void every_case(void **state)
{
    DIR *d = opendir(TEST_DATA_DIR "/linux");
    struct dirent *e;
    unsigned n = 0;

    (void)state;
    assert_non_null(d);
    while ((e = readdir(d)))
        if (!strncmp(e->d_name, "claim-", 6)) {
            run_case(e->d_name);
            n++;
        }
    closedir(d);
    assert_true(n >= CASES_LEAST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_case)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
