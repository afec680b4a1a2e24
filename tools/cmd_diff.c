/* SPDX-License-Identifier: MIT */
/* tools: memtracer diff: what each type grew between two moments of a file, or between the ends
 * of two files.
 * In: one file and two moments, or two files. Out: a table of changes, most growth first. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "levels.h"
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
    "  --json     machine-readable: every column before and after\n"
    "\n"
    "Example: what did the second command keep?\n"
    "  memtracer diff app.db \"command 2\" \"command 3\"\n"
    "\n"
    "A first mark means the newest sample before it. A second mark means the sample that shows\n"
    "what happened until then, if need be the one just after it, as in the view\n"
    "growth_between_marks.\n"
    "Held is resident + swapped. - is unknown.\n"
    "Exit: 0 shown, 1 usage, 2 a file or moment is not there.\n";

#define N_COLUMNS 15
#define N_TYPES_MAX 64
#define UNKNOWN INT64_MIN

static const char *const column_names[N_COLUMNS] = {
    "size",       "committed",    "charged",   "private", "ws",
    "ws_private", "ws_shareable", "ws_shared", "pss",     "swap",
    "locked",     "huge",         "lazy_free", "blocks",  "largest",
};
enum { SIZE = 0, COMMITTED = 1, PRIVATE = 3, WS = 4, SWAP = 9, BLOCKS = 13 };

struct type_row {
    char name[32];
    int64_t side[2][N_COLUMNS];
    int64_t grew; /* held after − held before */
};

struct difference {
    struct type_row types[N_TYPES_MAX];
    size_t n_types;
    int side; /* which is being read */
};

static const char sql_levels[] =
    "WITH " SQL_LEVELS_AT " SELECT type, size, committed, charged, private, ws, ws_private,"
    " ws_shareable, ws_shared, pss, swap, locked, huge, lazy_free, blocks, largest"
    " FROM levels_at WHERE type <> 'free' ORDER BY place";

static struct type_row *find_type(struct difference *d, const char *name)
{
    struct type_row *row;

    for (size_t i = 0; i < d->n_types; i++)
        if (!strcmp(d->types[i].name, name))
            return &d->types[i];
    if (d->n_types == N_TYPES_MAX)
        return NULL;
    row = &d->types[d->n_types++];
    snprintf(row->name, sizeof(row->name), "%s", name);
    for (size_t c = 0; c < N_COLUMNS; c++)
        row->side[0][c] = row->side[1][c] = UNKNOWN;
    return row;
}

static int keep_level(void *user, uint32_t n_columns, const char *const *names,
                      const tracer_value *v)
{
    struct difference *d = user;
    struct type_row *row = find_type(d, v[0].bytes);

    (void)names;
    for (uint32_t c = 1; row && c < n_columns; c++)
        if (v[c].kind == TRACER_VALUE_INTEGER)
            row->side[d->side][c - 1] = v[c].integer;
    return 0;
}

static int read_side(struct answer *a, const struct moment *m, int side, struct difference *d)
{
    d->side = side;
    answer_bind(a, m->run);
    answer_bind(a, m->sample);
    return answer_ask(a, sql_levels, keep_level, d);
}

static int64_t held(const int64_t *side)
{
    if (side[WS] == UNKNOWN)
        return side[COMMITTED];
    return side[WS] + (side[SWAP] == UNKNOWN ? 0 : side[SWAP]);
}

/* A type that one side does not have was nothing there; a column unknown on one side stays so. */
static bool has_type(const int64_t *side)
{
    return side[SIZE] != UNKNOWN || side[COMMITTED] != UNKNOWN || side[PRIVATE] != UNKNOWN;
}

static int64_t change(const struct type_row *row, int64_t before, int64_t after)
{
    if (before == UNKNOWN && !has_type(row->side[0]) && after != UNKNOWN)
        before = 0;
    if (after == UNKNOWN && !has_type(row->side[1]) && before != UNKNOWN)
        after = 0;
    return before == UNKNOWN || after == UNKNOWN ? UNKNOWN : after - before;
}

static int by_growth(const void *a, const void *b)
{
    const struct type_row *x = a, *y = b;

    return x->grew < y->grew ? 1 : x->grew > y->grew ? -1 : 0;
}

static void sort_rows(struct difference *d)
{
    for (size_t i = 0; i < d->n_types; i++)
        d->types[i].grew =
            change(&d->types[i], held(d->types[i].side[0]), held(d->types[i].side[1]));
    qsort(d->types, d->n_types, sizeof(d->types[0]), by_growth);
}

static void put(struct table *t, int64_t value)
{
    if (value == UNKNOWN)
        table_unknown(t);
    else
        table_integer(t, value);
}

static void print_table(const struct difference *d, bool exact)
{
    static const struct table_column columns[] = {
        {"Type", CELL_TEXT},           {"Held before", CELL_BYTES}, {"Held", CELL_CHANGE},
        {"Private", CELL_CHANGE},      {"Commit", CELL_CHANGE},     {"Size", CELL_CHANGE},
        {"Blocks", CELL_COUNT_CHANGE},
    };
    static const int shown[] = {PRIVATE, COMMITTED, SIZE, BLOCKS};
    struct table *t = table_new(columns, COUNT_OF(columns), exact);

    for (size_t i = 0; i < d->n_types; i++) {
        const struct type_row *row = &d->types[i];

        if (!has_type(row->side[0]) && !has_type(row->side[1]))
            continue;
        table_text(t, row->name);
        put(t, held(row->side[0]));
        put(t, row->grew);
        for (size_t c = 0; c < COUNT_OF(shown); c++)
            put(t, change(row, row->side[0][shown[c]], row->side[1][shown[c]]));
    }
    table_print(t);
    table_free(t);
}

static void json_number(struct json *j, const char *key, int64_t value)
{
    if (value == UNKNOWN)
        json_null(j, key);
    else
        json_integer(j, key, value);
}

static void json_type(struct json *j, const struct type_row *row)
{
    json_open(j, NULL, '{');
    json_string(j, "type", row->name);
    json_number(j, "grew", row->grew);
    for (size_t c = 0; c < N_COLUMNS; c++) {
        json_open(j, column_names[c], '{');
        json_number(j, "before", row->side[0][c]);
        json_number(j, "after", row->side[1][c]);
        json_number(j, "change", change(row, row->side[0][c], row->side[1][c]));
        json_close(j, '}');
    }
    json_close(j, '}');
}

static void print_json(struct json *j, const struct difference *d)
{
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

static int diff(struct answer *a, struct answer *b, const char *from, const char *to, int64_t run)
{
    static struct difference d;
    struct moment m[2];
    int code = moment_resolve(a, from, run, &m[0]);

    if (!code)
        code = moment_resolve(b, to, run, &m[1]);
    if (!code && a == b && m[0].run == m[1].run)
        code = moment_after_mark(b, m[0].t_ns, &m[1]);
    if (!code)
        code = read_side(a, &m[0], 0, &d);
    if (!code)
        code = read_side(b, &m[1], 1, &d);
    if (code)
        return code;
    sort_rows(&d);
    if (a->json)
        json_open(&a->out, NULL, '{');
    print_side(a, "before", "from ", &m[0]);
    b->out = a->out;
    print_side(b, "after", "to   ", &m[1]);
    a->out = b->out;
    if (a->json) {
        print_json(&a->out, &d);
        return TOOL_OK;
    }
    putchar('\n');
    print_table(&d, a->exact);
    return TOOL_OK;
}

static int diff_files(struct answer *a, char **argv, int n, int64_t run)
{
    struct answer b = *a;
    int code = TOOL_OK;

    b.reader = NULL; /* its own, if it comes to that */
    if (n == 2)
        code = answer_open(&b, argv[1]);
    if (!code)
        code = diff(a, n == 2 ? &b : a, n == 2 ? NULL : argv[1], n == 2 ? NULL : argv[2], run);
    if (n == 2)
        answer_close(&b);
    return code;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct answer a = {0};
    int64_t of_run = 0;
    const struct option_spec specs[] = {
        {"run", 0, OPTION_NUMBER, &of_run},
        {"bytes", 0, OPTION_FLAG, &a.exact},
        {"json", 0, OPTION_FLAG, &a.json},
        {0},
    };
    int first,
        code = options_parse(self, argc, argv, specs, (struct operand_range){2, 3, false}, &first);

    if (code != OPTIONS_GO_ON)
        return code;
    code = answer_open(&a, argv[first]);
    if (!code)
        code = diff_files(&a, argv + first, argc - first, of_run);
    answer_close(&a);
    return code;
}

const struct command command_diff = {"diff", "what grew between two moments, or two files", help,
                                     run};
