/* SPDX-License-Identifier: MIT */
/* tools: memtracer diff: what each type grew between two moments of a file, or between the ends
 * of two files, and whether that is more than noise.
 * In: one file and two moments, or two files. Out: a table of changes, most growth first, and a
 * sentence. */
#include <inttypes.h>

#include "answer.h"
#include "difference.h"
#include "moment.h"
#include "options.h"

static const char help[] =
    "usage: memtracer diff FILE MOMENT MOMENT [--run N]\n"
    "       memtracer diff FILE1 FILE2\n"
    "\n"
    "What each memory type grew from the first moment to the second, most growth first; or from\n"
    "the end of one file to the end of another.\n"
    "\n"
    "  MOMENT     12.5, 1m30s, a mark's label, label#2, #12 (a sample), start, end,\n"
    "             \"2026-11-29 12:00:00\" (UTC); see memtracer show --help\n"
    "  --run N    the N-th run of the file; default the newest\n"
    "  --bytes    exact bytes instead of KiB, MiB\n"
    "  --json     machine-readable: every column before and after, noise, the sentence\n"
    "\n"
    "Example: what did the second command keep?\n"
    "  memtracer diff app.db \"command 2\" \"command 3\"\n"
    "\n"
    "A first mark means the newest sample before it. A second mark means the sample that shows\n"
    "what happened until then, if need be the one just after it, as in the view\n"
    "growth_between_marks.\n"
    "Before and Held are resident + swapped. - is unknown.\n"
    "\n"
    "Noise is how far the type swings on its own. A value's swing is its height above both the\n"
    "lowest value before and the lowest after it in the run, so that growth, a fall and steps\n"
    "have none; a run's swing is what is passed in a twentieth of its time; noise is the root of\n"
    "the sum of both runs' squares, at least 64 KiB, and between two runs at least 256 KiB and\n"
    "2 % of the larger level. Over: more than that, up or down. The tracer's own memory is\n"
    "shown, but no difference.\n"
    "Exit: 0 nothing differs beyond noise, 1 usage, 2 a file or moment is not there, 3 a type\n"
    "differs beyond noise.\n";

static void put(struct table *t, int64_t value)
{
    if (value == DIFFERENCE_UNKNOWN)
        table_unknown(t);
    else
        table_integer(t, value);
}

static void put_beyond(struct table *t, const struct type_difference *y)
{
    if (y->grew == DIFFERENCE_UNKNOWN)
        table_unknown(t);
    else
        table_text(t, y->beyond ? "yes" : "no");
}

static void print_table(const struct difference *d, bool exact)
{
    static const struct table_column columns[] = {
        {"Type", CELL_TEXT},   {"Before", CELL_BYTES},        {"Held", CELL_CHANGE},
        {"Noise", CELL_BYTES}, {"Over", CELL_TEXT},           {"Commit", CELL_CHANGE},
        {"Size", CELL_CHANGE}, {"Blocks", CELL_COUNT_CHANGE},
    };
    static const int shown[] = {DIFFERENCE_COMMITTED, DIFFERENCE_SIZE, DIFFERENCE_BLOCKS};
    struct table *t = table_new(columns, COUNT_OF(columns), exact);

    for (size_t i = 0; i < d->n_types; i++) {
        const struct type_difference *y = &d->types[i];

        if (!y->there[0] && !y->there[1])
            continue;
        table_text(t, y->name);
        put(t, y->held[0]);
        put(t, y->grew);
        put(t, y->noise);
        put_beyond(t, y);
        for (size_t c = 0; c < COUNT_OF(shown); c++)
            put(t, difference_change(y, shown[c]));
    }
    table_print(t);
    table_free(t);
}

static void json_number(struct json *j, const char *key, int64_t value)
{
    if (value == DIFFERENCE_UNKNOWN)
        json_null(j, key);
    else
        json_integer(j, key, value);
}

static void json_judged(struct json *j, const struct type_difference *y)
{
    json_number(j, "grew", y->grew);
    json_integer(j, "noise", y->noise);
    json_bool(j, "beyond_noise", y->beyond);
}

static void json_type(struct json *j, const struct type_difference *y)
{
    json_open(j, NULL, '{');
    json_string(j, "type", y->name);
    json_judged(j, y);
    for (int c = 0; c < DIFFERENCE_COLUMNS; c++) {
        json_open(j, difference_columns[c], '{');
        json_number(j, "before", y->side[0][c]);
        json_number(j, "after", y->side[1][c]);
        json_number(j, "change", difference_change(y, c));
        json_close(j, '}');
    }
    json_close(j, '}');
}

static void print_json(struct json *j, const struct difference *d, const char *sentence)
{
    json_bool(j, "differs", d->differs);
    json_string(j, "sentence", sentence);
    json_open(j, "all", '{');
    json_integer(j, "before", d->all.held[0]);
    json_integer(j, "after", d->all.held[1]);
    json_judged(j, &d->all);
    json_close(j, '}');
    json_open(j, "types", '[');
    for (size_t i = 0; i < d->n_types; i++)
        json_type(j, &d->types[i]);
    json_close(j, ']');
    json_close(j, '}');
}

static void print_side(struct answer *a, const char *key, const char *before,
                       const struct moment *m)
{
    if (a->json) {
        json_open(&a->out, key, '{');
        json_string(&a->out, "file", a->path);
    }
    moment_print(a, before, m);
    if (a->json)
        json_close(&a->out, '}');
}

static int find_moments(struct answer *a, struct answer *b, char **words, struct moment m[2])
{
    int code = moment_resolve(a, words[0], a->run, &m[0]);

    if (!code)
        code = moment_resolve(b, words[1], b->run, &m[1]);
    if (!code && a == b && m[0].run == m[1].run)
        code = moment_after_mark(b, m[0].t_ns, &m[1]);
    return code;
}

static int diff(struct answer *a, struct answer *b, char **words)
{
    static struct difference d;
    char sentence[DIFFERENCE_SENTENCE];
    struct moment m[2];
    int code = find_moments(a, b, words, m);

    if (!code)
        code = difference_read(a, &m[0], b, &m[1], &d);
    if (code)
        return code;
    difference_sentence(&d, sentence);
    if (a->json)
        json_open(&a->out, NULL, '{');
    print_side(a, "before", "from ", &m[0]);
    b->out = a->out;
    print_side(b, "after", "to   ", &m[1]);
    a->out = b->out;
    if (a->json) {
        print_json(&a->out, &d, sentence);
    } else {
        putchar('\n');
        print_table(&d, a->exact);
        printf("\n%s\n", sentence);
    }
    return d.differs ? TOOL_DIFFERS : TOOL_OK;
}

struct ends {
    char **words; /* two moments, or one other file */
    int n;
};

static int take(void *user, char **operands, int n)
{
    *(struct ends *)user = (struct ends){operands, n};
    return TOOL_OK;
}

static int diff_ends(struct answer *a, void *user)
{
    const struct ends *ends = user;
    struct answer b = *a;
    char *both_ends[2] = {NULL, NULL};
    int code;

    if (ends->n == 2)
        return diff(a, a, ends->words);
    code = answer_open(&b, ends->words[0]);
    if (!code)
        code = diff(a, &b, both_ends);
    answer_close(&b);
    return code;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct answer a = {0};
    struct ends ends;
    const struct option_spec specs[] = {ANSWER_OPTIONS(a), {0}};

    return answer_question(&(struct question){self, &a, specs, diff_ends, &ends, 1, 2, take}, argc,
                           argv);
}

const struct command command_diff = {"diff", "what grew between two moments, or two files", help,
                                     run};
