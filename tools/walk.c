/* SPDX-License-Identifier: MIT */
/* tools: the levels of a run → one call a moment with the absolute values of all types.
 * In: a recording. Out: moments in order of time. Called by the report. Holds one moment only, so
 * that a run of any length can be walked. */
#include "walk.h"

#include <string.h>

const char *const walk_column_names[WALK_COLUMNS] = {
    "size",       "committed",    "charged",   "private", "ws",
    "ws_private", "ws_shareable", "ws_shared", "pss",     "swap",
    "locked",     "huge",         "lazy_free", "blocks",  "largest",
};

static int take_type(void *user, uint32_t n_columns, const char *const *names,
                     const tracer_value *values)
{
    struct walk *w = user;
    struct walk_type *t = &w->types[w->n_types];

    (void)n_columns, (void)names;
    if (w->n_types == WALK_TYPES)
        return 1;
    w->n_types++;
    t->id = values[0].integer;
    snprintf(t->name, sizeof(t->name), "%s", values[1].bytes);
    t->counts = strcmp(t->name, "free") != 0;
    return 0;
}

int walk_open(struct walk *w, struct answer *a, struct work *work, int64_t run)
{
    memset(w, 0, sizeof(*w));
    w->answer = a;
    w->work = work;
    w->run = run;
    answer_bind(a, run);
    return answer_ask(a,
                      "SELECT t.id, t.name FROM type t WHERE EXISTS (SELECT 1 FROM level l"
                      " WHERE l.run = ?1 AND l.type = t.id) ORDER BY t.id",
                      take_type, w);
}

static struct walk_type *type_of(struct walk *w, int64_t id)
{
    for (size_t k = 0; k < w->n_types; k++)
        if (w->types[k].id == id)
            return &w->types[k];
    return NULL;
}

static void close_moment(struct walk *w)
{
    if (!w->sample)
        return;
    w->moment(w->user, w);
    w->ordinal++;
    for (size_t k = 0; k < w->n_types; k++)
        w->types[k].changed = false;
}

static int take_level(void *user, uint32_t n_columns, const char *const *names,
                      const tracer_value *values)
{
    struct walk *w = user;
    struct walk_type *t = type_of(w, values[2].integer);

    (void)n_columns, (void)names;
    if (values[0].integer != w->sample)
        close_moment(w);
    w->sample = values[0].integer;
    w->t_ns = values[1].integer;
    for (int c = 0; t && c < WALK_COLUMNS; c++) {
        t->known[c] = values[3 + c].kind == TRACER_VALUE_INTEGER;
        t->value[c] = values[3 + c].integer;
        t->changed = true;
    }
    return !work_step(w->work);
}

int walk_run(struct walk *w, void (*moment)(void *user, struct walk *w), void *user)
{
    static const char sql[] =
        "SELECT s.id, s.t_ns, t.id, l.size, l.committed, l.charged, l.private, l.ws, l.ws_private,"
        " l.ws_shareable, l.ws_shared, l.pss, l.swap, l.locked, l.huge, l.lazy_free, l.blocks,"
        " l.largest FROM sample s CROSS JOIN type t"
        " CROSS JOIN level l ON l.run = s.run AND l.type = t.id AND l.sample = s.id"
        " WHERE s.run = ?1 ORDER BY s.t_ns, s.id, t.id";
    int code;

    w->moment = moment;
    w->user = user;
    w->sample = 0;
    w->ordinal = 0;
    for (size_t k = 0; k < w->n_types; k++) {
        memset(w->types[k].known, 0, sizeof(w->types[k].known));
        memset(w->types[k].value, 0, sizeof(w->types[k].value));
    }
    answer_bind(w->answer, w->run);
    code = answer_ask(w->answer, sql, take_level, w);
    close_moment(w);
    return code;
}
