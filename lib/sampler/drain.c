/* SPDX-License-Identifier: MIT */
/* sampler: exact events, from the ring of the interposers to the recorder.
 * In: the port of libmemtracer-stacks. Out: rows of event and stack; code named by file and
 * offset. Called by sampler.c, twenty times a second and before each tick.
 * A return address means the library that was there when the call was made. It may be gone by
 * now: then its unloading stands behind the event in the ring, and is looked for first. */
#include "sampler/drain.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "record/events.h"
#include "sampler/stages.h"
#include "trace/trace.h"

#define DRAIN_NS (INT64_C(50) * 1000000)
#define MODULES 256u
#define EVENTS_A_DRAIN 65536u

struct known_module {
    uint64_t base, end, bias;
    char path[sizeof(((struct mt_event_module *)0)->path)];
    char build_id[2 * MT_EVENT_BUILD_ID_BYTES + 1];
};

struct mt_drain {
    const struct mt_trace_port *port;
    void *memory; /* of the port */
    int64_t due_ns;
    uint64_t n_unloads;  /* released */
    uint64_t n_lost;     /* that the file knows of */
    uint64_t n_undone;   /* by the recorder, that the file does not know of yet */
    uint64_t generation; /* of modules[] */
    struct known_module modules[MODULES], other;
    uint32_t n_modules, next_victim;
};

int mt_drain_open(const struct tracer *t, struct mt_drain **out)
{
    const struct mt_trace_port *port = mt_trace_find();
    struct mt_drain *d;

    *out = NULL;
    if (!(t->options.flags & TRACER_F_STACKS) || !port)
        return TRACER_OK;
    d = mt_memory_alloc(sizeof(*d));
    if (d)
        d->memory = mt_memory_alloc(port->memory_bytes);
    if (!d || !d->memory) {
        mt_memory_free(d);
        return mt_error_set(TRACER_ENOMEM, "no address space for stacks");
    }
    d->port = port;
    if (!port->start(d->memory, t->options.stack_min_bytes)) {
        mt_memory_free(d->memory);
        mt_memory_free(d);
        return mt_error_set(TRACER_ESTATE,
                            "another tracer of this process records stacks already; only one can");
    }
    *out = d;
    return TRACER_OK;
}

void mt_drain_close(struct mt_drain *d)
{
    if (!d)
        return;
    if (d->port->stop()) /* else a call is stuck in it: it is left alone */
        mt_memory_free(d->memory);
    mt_memory_free(d);
}

int64_t mt_drain_due_ns(const struct tracer *t)
{
    return t->work && t->work->drain ? t->work->drain->due_ns : INT64_MAX;
}

/* ---- modules ---- */

static void take_module(struct known_module *m, const struct mt_event *e)
{
    const struct mt_event_module *from = &e->more.module;

    m->base = e->address;
    m->end = e->address + e->bytes;
    m->bias = e->old_address;
    snprintf(m->path, sizeof(m->path), "%s", from->path);
    m->build_id[0] = '\0';
    for (unsigned i = 0; i < from->build_id_bytes && i < MT_EVENT_BUILD_ID_BYTES; i++)
        snprintf(m->build_id + 2 * i, 3, "%02x", from->build_id[i]);
}

static const struct known_module *find_known(const struct mt_drain *d, uint64_t pc)
{
    for (uint32_t i = 0; i < d->n_modules; i++)
        if (pc >= d->modules[i].base && pc < d->modules[i].end)
            return &d->modules[i];
    return NULL;
}

/* The unloading of what was at `pc` when the oldest event was made; NULL = it was not unloaded. */
static const struct mt_event *find_unload(const struct mt_drain *d, uint64_t pc)
{
    const struct mt_event *e;

    if (d->port->unloads() == d->n_unloads)
        return NULL;
    for (uint32_t ahead = 1; (e = d->port->peek(ahead)) != NULL; ahead++)
        if (e->kind == MT_EVENT_UNLOAD && pc >= e->address && pc - e->address < e->bytes)
            return e;
    return NULL;
}

static const struct known_module *add_loaded(struct mt_drain *d, const struct mt_event *e)
{
    struct known_module *m;

    if (d->n_modules < MODULES) {
        m = &d->modules[d->n_modules++];
    } else {
        m = &d->modules[d->next_victim];
        d->next_victim = (d->next_victim + 1) % MODULES;
    }
    take_module(m, e);
    return m;
}

/* It may be unloaded while it is being looked for: so the ring is asked again after that, and
 * *out_not_yet says that the answer is still on its way there. */
static const struct known_module *find_module(struct mt_drain *d, uint64_t pc, bool *out_not_yet)
{
    const struct mt_event *gone = find_unload(d, pc);
    const struct known_module *known = gone ? NULL : find_known(d, pc);
    struct mt_event loaded;
    bool found, unloading;

    *out_not_yet = false;
    if (known)
        return known;
    found = !gone && d->port->module_at(pc, &loaded);
    unloading = d->port->unloading();
    if (!gone)
        gone = find_unload(d, pc);
    *out_not_yet = !gone && !found && unloading;
    if (gone) {
        take_module(&d->other, gone);
        return &d->other;
    }
    return found ? add_loaded(d, &loaded) : NULL;
}

static bool place(void *user, uint64_t pc, struct mt_place *out)
{
    bool not_yet;
    const struct known_module *m = find_module(user, pc, &not_yet);

    out->offset = m ? pc - m->bias : pc;
    if (m) {
        out->path = m->path;
        out->build_id = m->build_id;
    }
    return !not_yet;
}

/* Addresses of this range may mean something else from here on. */
static void forget_module(struct mt_drain *d, const struct mt_event *e)
{
    for (uint32_t i = d->n_modules; i-- > 0;)
        if (d->modules[i].base < e->address + e->bytes && e->address < d->modules[i].end)
            d->modules[i] = d->modules[--d->n_modules];
    d->n_unloads++;
    d->generation++;
}

/* ---- events ---- */

static int write_losses(struct tracer *t, struct mt_drain *d)
{
    struct mt_recorder *r = t->work->recorder;
    uint64_t lost = d->port->lost();
    int error;

    d->n_undone += mt_recorder_events_undone(r);
    if (lost == d->n_lost && !d->n_undone)
        return TRACER_OK;
    error = mt_recorder_events_lost(r, mt_os_monotonic_ns() - t->start_monotonic_ns,
                                    lost - d->n_lost + d->n_undone);
    if (error)
        return error;
    d->n_lost = lost;
    d->n_undone = 0;
    mt_sampler_problem(t, MT_PROBLEM_EVENTS_LOST, TRACER_LOG_WARNING,
                       "exact events came faster than they could be written, some are missing: "
                       "see table event_loss; a larger stack_min_bytes makes fewer");
    return TRACER_OK;
}

/* At most one ring's worth: a host that is faster than the file must not keep the sampler here. */
static int write_events(struct tracer *t, struct mt_drain *d, bool *out_any)
{
    struct mt_event_context context = {t->start_monotonic_ns, d->generation, place, d};
    const struct mt_event *e;
    int error = TRACER_OK;

    for (uint32_t n = 0; n < EVENTS_A_DRAIN && !error && (e = d->port->peek(0)) != NULL; n++) {
        if (e->kind == MT_EVENT_UNLOAD) {
            forget_module(d, e);
            context.generation = d->generation;
        } else {
            /* a stack that has code of a library that is about to go is not to be remembered */
            context.generation = d->port->unloads() == d->n_unloads ? d->generation : 0;
            error = mt_recorder_event(t->work->recorder, e, &context);
            if (error == MT_RECORDER_NOT_YET)
                return TRACER_OK;
            *out_any = true;
        }
        if (!error)
            d->port->release();
    }
    return error;
}

int mt_drain(struct tracer *t, bool *out_any)
{
    struct mt_drain *d = t->work->drain;
    int error;

    *out_any = false;
    if (!d)
        return TRACER_OK;
    d->due_ns = mt_os_monotonic_ns() + DRAIN_NS;
    error = write_events(t, d, out_any);
    if (!error)
        error = write_losses(t, d);
    return error;
}
