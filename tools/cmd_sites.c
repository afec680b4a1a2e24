/* SPDX-License-Identifier: MIT */
/* tools: memtracer sites: who took memory, and whose is still alive.
 * In: the exact events of a run. Out: call sites, most live bytes first. The calls are replayed, so
 * that mappings given back in pieces count by their rest. */
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "moment.h"
#include "options.h"
#include "replay.h"
#include "symbols.h"

static const char help[] =
    "usage: memtracer sites FILE [--alive] [--run N]\n"
    "\n"
    "Call sites of a run with --stacks: how much each took, in how many calls, and how much of it\n"
    "is still alive at the end; most alive first. A site is the innermost caller outside the C\n"
    "library, the C++ library and preloaded allocators.\n"
    "\n"
    "  --alive    only sites with something alive\n"
    "  --run N    the N-th run of the file; default the newest\n"
    "  --bytes    exact bytes instead of KiB, MiB\n"
    "  --json     machine-readable\n"
    "\n"
    "Example: who holds what this program never gave back?\n"
    "  memtracer run --stacks -o app.db -- ./app\n"
    "  memtracer sites app.db --alive\n"
    "\n"
    "Names need the program's files as they were (compared by build-id), and debug information\n"
    "for lines; else file+offset is shown.\n"
    "Exit: 0 shown, 1 usage, 2 the file cannot be read, 3 no calls were recorded.\n";

static const char sql_calls[] =
    "WITH site AS MATERIALIZED (SELECT stack, frame FROM call_site)"
    " SELECT takes, is_heap, address, bytes, ifnull(site.frame, 0) FROM call_edge e"
    " LEFT JOIN site ON site.stack = e.stack WHERE e.run = ?1 ORDER BY t_ns, takes";

static const char sql_place[] = "SELECT p.text, c.build_id, f.offset FROM frame f"
                                " JOIN code c ON c.id = f.code JOIN string p ON p.id = c.path"
                                " WHERE f.id = ?1";

static const struct table_column columns[] = {
    {"Alive", CELL_BYTES},  {"Pieces", CELL_NUMBER}, {"Taken", CELL_BYTES},
    {"Calls", CELL_NUMBER}, {"By", CELL_TEXT},
};

struct site {
    int64_t frame; /* 0 = unknown */
    uint64_t alive, pieces, taken, calls;
};

struct sites {
    struct site *items;
    size_t n, capacity;
    struct replay *replay;
    uint64_t n_rows;
};

static struct site *site_of(struct sites *s, int64_t frame)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->items[i].frame == frame)
            return &s->items[i];
    if (s->n == s->capacity) {
        s->capacity = s->capacity ? 2 * s->capacity : 64;
        s->items = need(realloc(s->items, s->capacity * sizeof(*s->items)));
    }
    s->items[s->n] = (struct site){.frame = frame};
    return &s->items[s->n++];
}

static int replay_row(void *user, uint32_t n_columns, const char *const *names,
                      const tracer_value *values)
{
    struct sites *s = user;
    int space = values[1].integer != 0;
    uint64_t address = (uint64_t)values[2].integer, bytes = (uint64_t)values[3].integer;

    (void)n_columns;
    (void)names;
    s->n_rows++;
    if (values[0].integer) {
        struct site *site = site_of(s, values[4].integer);

        site->taken += bytes;
        site->calls++;
        replay_take(s->replay, space, address, bytes, values[4].integer);
    } else {
        replay_give(s->replay, space, address, bytes);
    }
    return 0;
}

static void count_piece(void *user, uint64_t bytes, int64_t owner)
{
    struct site *site = site_of(user, owner);

    site->alive += bytes;
    site->pieces++;
}

static int most_first(const void *a, const void *b)
{
    const struct site *x = a, *y = b;

    if (x->alive != y->alive)
        return x->alive < y->alive ? 1 : -1;
    if (x->taken != y->taken)
        return x->taken < y->taken ? 1 : -1;
    return x->frame < y->frame ? -1 : x->frame > y->frame;
}

/* ---- names ---- */

struct named {
    struct symbols *symbols;
    char name[SYMBOL_BYTES], path[SYMBOL_BYTES], build_id[128];
    int64_t offset;
};

static void copy_text(char *out, size_t room, const tracer_value *value)
{
    size_t n = value->n_bytes < room ? value->n_bytes : room - 1;

    memcpy(out, value->kind == TRACER_VALUE_TEXT ? value->bytes : "", n);
    out[n] = '\0';
}

static int name_row(void *user, uint32_t n_columns, const char *const *names,
                    const tracer_value *values)
{
    struct named *n = user;
    struct code_place place;

    (void)n_columns;
    (void)names;
    copy_text(n->path, sizeof(n->path), &values[0]);
    copy_text(n->build_id, sizeof(n->build_id), &values[1]);
    n->offset = values[2].integer;
    place = (struct code_place){n->path, n->build_id, (uint64_t)n->offset, true};
    symbols_name(n->symbols, &place, n->name);
    return 0;
}

static int name_site(struct answer *a, const struct site *site, struct named *n)
{
    memcpy(n->name, "unknown", sizeof("unknown"));
    n->path[0] = n->build_id[0] = '\0';
    n->offset = 0;
    answer_bind(a, site->frame);
    return answer_ask(a, sql_place, name_row, n);
}

/* ---- printing ---- */

static void print_json(struct json *j, const struct site *site, const struct named *n)
{
    json_open(j, NULL, '{');
    json_integer(j, "alive", (int64_t)site->alive);
    json_integer(j, "pieces", (int64_t)site->pieces);
    json_integer(j, "taken", (int64_t)site->taken);
    json_integer(j, "calls", (int64_t)site->calls);
    json_string(j, "site", n->name);
    json_string(j, "site_path", n->path);
    json_string(j, "site_build_id", n->build_id);
    json_integer(j, "site_offset", n->offset);
    json_close(j, '}');
}

static int print_sites(struct answer *a, const struct sites *s, bool only_alive)
{
    struct table *table = table_new(columns, COUNT_OF(columns), a->exact);
    struct named named = {.symbols = symbols_new()};
    int code = TOOL_OK;

    if (a->json)
        json_open(&a->out, NULL, '[');
    for (size_t i = 0; i < s->n && !code; i++) {
        const struct site *site = &s->items[i];

        if (only_alive && !site->alive)
            break;
        code = name_site(a, site, &named);
        if (a->json) {
            print_json(&a->out, site, &named);
            continue;
        }
        table_integer(table, (int64_t)site->alive);
        table_integer(table, (int64_t)site->pieces);
        table_integer(table, (int64_t)site->taken);
        table_integer(table, (int64_t)site->calls);
        table_text(table, named.name);
    }
    if (a->json)
        json_close(&a->out, ']');
    else
        table_print(table);
    table_free(table);
    symbols_free(named.symbols);
    return code;
}

static int sites(struct answer *a, void *user)
{
    const bool *only_alive = user;
    struct sites s = {.replay = replay_new()};
    int64_t run;
    int code = moment_run(a, a->run, &run);

    if (!code) {
        answer_bind(a, run);
        code = answer_ask(a, sql_calls, replay_row, &s);
    }
    if (!code && s.n_rows) {
        replay_each(s.replay, count_piece, &s);
        qsort(s.items, s.n, sizeof(*s.items), most_first);
    }
    if (!code)
        code = print_sites(a, &s, *only_alive);
    if (!code && !s.n_rows) {
        if (!a->json)
            puts("no calls were recorded; memtracer run --stacks does");
        code = TOOL_NOTHING;
    }
    replay_free(s.replay);
    free(s.items);
    return code;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct answer a = {0};
    bool only_alive = false;
    const struct option_spec specs[] = {
        {"alive", 0, OPTION_FLAG, &only_alive},
        ANSWER_OPTIONS(a),
        {0},
    };

    return answer_question(&(struct question){self, &a, specs, .ask = sites, .user = &only_alive},
                           argc, argv);
}

const struct command command_sites = {"sites", "who took memory, and whose is still alive", help,
                                      run};
