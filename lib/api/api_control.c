/* SPDX-License-Identifier: MIT */
/* api: what the host asks of a running tracer: samples, pauses, marks, types, claims.
 * Called by the host, any thread. Each function is a guard and a short visit to the shared part;
 * only tracer_sample() and tracer_flush() wait for the sampler. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/registry.h"
#include "base/error.h"
#include "base/label.h"

enum ask { ASK_SAMPLE, ASK_FLUSH };

#define LOOK_AGAIN_NS INT64_C(500000000)

static int refusal(const tracer *t)
{
    return mt_error_set(TRACER_ESTATE, "%s",
                        t->error == TRACER_ETHREAD ? t->error_detail
                                                   : "recording has ended: the watched process is "
                                                     "gone");
}

/* Under the lock. The sampler's thread may be ended by the system at any time, and tells nobody. */
static int wait_for_answer(tracer *t, const uint64_t *done, uint64_t ticket)
{
    while (*done < ticket && t->phase == MT_PHASE_RUNNING)
        if (!mt_os_lock_wait(t->lock, mt_os_monotonic_ns() + LOOK_AGAIN_NS))
            mt_registry_look(t);
    if (*done < ticket)
        return refusal(t);
    return t->flush_result ? mt_error_set(t->flush_result, "%s", t->error_detail) : TRACER_OK;
}

/* Asks and waits for the answer; a sampler that has ended answers at once. */
static int ask_and_wait(tracer *t, enum ask what)
{
    uint64_t *asked = what == ASK_SAMPLE ? &t->samples_asked : &t->flushes_asked;
    uint64_t *done = what == ASK_SAMPLE ? &t->samples_done : &t->flushes_done;
    uint64_t ticket;
    int error = mt_registry_check(t);

    if (error)
        return error;
    mt_os_lock_acquire(t->lock);
    mt_registry_look(t);
    if (t->phase == MT_PHASE_RUNNING) {
        ticket = ++*asked;
        mt_os_lock_signal_all(t->lock);
        error = wait_for_answer(t, done, ticket);
    } else {
        error = refusal(t);
    }
    mt_os_lock_release(t->lock);
    return error;
}

int tracer_sample(tracer *t)
{
    return ask_and_wait(t, ASK_SAMPLE);
}

int tracer_flush(tracer *t)
{
    return ask_and_wait(t, ASK_FLUSH);
}

static int set_paused(tracer *t, bool paused)
{
    int error = mt_registry_check(t);

    if (error)
        return error;
    mt_os_lock_acquire(t->lock);
    t->paused = paused;
    if (t->phase == MT_PHASE_RUNNING && t->stats.state != TRACER_STATE_SUSPENDED)
        t->stats.state = paused ? TRACER_STATE_PAUSED : t->running_state;
    mt_os_lock_signal_all(t->lock);
    mt_os_lock_release(t->lock);
    return TRACER_OK;
}

int tracer_pause(tracer *t)
{
    return set_paused(t, true);
}

int tracer_resume(tracer *t)
{
    return set_paused(t, false);
}

int tracer_mark(tracer *t, const char *label)
{
    int error = mt_registry_check(t);
    struct mt_mark mark;

    if (error)
        return error;
    if (!label || !label[0])
        return mt_error_set(TRACER_EINVAL, "label is %s; say what happened",
                            label ? "empty" : "NULL");
    mark.wall_ns = mt_os_wall_ns();
    mark.t_ns = mt_os_monotonic_ns() - t->start_monotonic_ns;
    mark.tid = mt_os_thread_id();
    mt_label_copy(mark.label, sizeof(mark.label), label);
    mt_os_lock_acquire(t->lock);
    if (t->phase != MT_PHASE_RUNNING) {
        error = refusal(t);
    } else if (t->n_marks == MT_MARKS_CAPACITY) {
        t->stats.n_dropped++;
        error = mt_error_set(TRACER_ELIMIT,
                             "%d marks wait to be written already; mark less "
                             "often",
                             MT_MARKS_CAPACITY);
    } else {
        t->marks[t->n_marks++] = mark;
        mt_os_lock_signal_all(t->lock);
    }
    mt_os_lock_release(t->lock);
    return error;
}

static bool name_is_fine(const char *name)
{
    size_t n = name ? strlen(name) : 0;

    return n > 0 && n < MT_TYPE_NAME_BYTES &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == n;
}

static bool name_is_built_in(const char *name)
{
    for (uint32_t i = 1; i < MT_TYPE_BUILTIN_END; i++)
        if (!strcmp(mt_type_name(i), name))
            return true;
    return !strcmp(name, "total"); /* the views' word for the sum */
}

/* Finds or adds; under the lock. */
static int add_type(tracer *t, const char *name, const char *description, uint32_t *out_type)
{
    uint32_t i = 0;

    while (i < t->n_types && strcmp(t->types[i].name, name) != 0)
        i++;
    if (i == MT_USER_TYPES)
        return mt_error_set(TRACER_ELIMIT, "%d types of the host's own are all there is",
                            (int)MT_USER_TYPES);
    if (i == t->n_types) {
        snprintf(t->types[i].name, sizeof(t->types[i].name), "%s", name);
        mt_label_copy(t->types[i].description, sizeof(t->types[i].description),
                      description ? description : "");
        t->n_types++;
    }
    *out_type = MT_TYPE_USER_FIRST + i;
    return TRACER_OK;
}

int tracer_type_add(tracer *t, const char *name, const char *description, uint32_t *out_type)
{
    int error = mt_registry_check(t);

    if (error)
        return error;
    if (!name_is_fine(name))
        return mt_error_set(TRACER_EINVAL, "type name \"%.60s\": 1 to %d of [a-z0-9_]",
                            name ? name : "(NULL)", MT_TYPE_NAME_BYTES - 1);
    if (name_is_built_in(name))
        return mt_error_set(TRACER_EINVAL, "type \"%s\" is built in; choose another name", name);
    if (!out_type)
        return mt_error_set(TRACER_EINVAL, "out_type is NULL");
    mt_os_lock_acquire(t->lock);
    error = add_type(t, name, description, out_type);
    mt_os_lock_release(t->lock);
    return error;
}

/* A page belongs to the claim that covers its first byte. */
static uint64_t first_page_from(uint64_t address)
{
    uint64_t page = mt_os_page_bytes();

    return (address + page - 1) / page * page;
}

static int check_range(const void *addr, size_t bytes)
{
    if (!addr || bytes == 0 || (uintptr_t)addr + bytes < (uintptr_t)addr)
        return mt_error_set(TRACER_EINVAL, "the range of %zu bytes at %p is no memory", bytes,
                            (void *)(uintptr_t)addr);
    return TRACER_OK;
}

static int check_type(const tracer *t, uint32_t type)
{
    static const uint32_t refused[] = {TRACER_TYPE_PAGE_TABLE, TRACER_TYPE_FREE,
                                       TRACER_TYPE_UNUSABLE, TRACER_TYPE_TRACER};
    bool known = mt_type_name(type) ||
                 (type >= TRACER_TYPE_USER_FIRST && type - TRACER_TYPE_USER_FIRST < t->n_types);

    for (size_t i = 0; i < MT_COUNT_OF(refused); i++)
        known = known && type != refused[i];
    if (!known)
        return mt_error_set(TRACER_EINVAL,
                            "type %" PRIu32 " cannot be claimed; use a built-in "
                            "type of memory or one of tracer_type_add()",
                            type);
    return TRACER_OK;
}

int tracer_claim(tracer *t, const void *addr, size_t bytes, uint32_t type, const char *label)
{
    int error = mt_registry_check(t);

    if (!error)
        error = check_range(addr, bytes);
    if (error)
        return error;
    mt_os_lock_acquire(t->lock);
    error = check_type(t, type);
    if (!error && t->n_claims == MT_USER_CLAIMS)
        error = mt_error_set(TRACER_ELIMIT, "%d claims are all there is; claim whole pools",
                             MT_USER_CLAIMS);
    if (!error) {
        struct mt_user_claim *c = &t->claims[t->n_claims++];

        c->base = first_page_from((uintptr_t)addr);
        c->end = first_page_from((uintptr_t)addr + bytes);
        c->type = type;
        if (!label)
            label = mt_type_name(type) ? mt_type_name(type)
                                       : t->types[type - TRACER_TYPE_USER_FIRST].name;
        mt_label_copy(c->label, sizeof(c->label), label);
        t->claims_number++;
    }
    mt_os_lock_release(t->lock);
    return error;
}

int tracer_unclaim(tracer *t, const void *addr, size_t bytes)
{
    int error = mt_registry_check(t);
    uint64_t base, end;
    uint32_t kept = 0;

    if (!error)
        error = check_range(addr, bytes);
    if (error)
        return error;
    base = first_page_from((uintptr_t)addr);
    end = first_page_from((uintptr_t)addr + bytes);
    mt_os_lock_acquire(t->lock);
    for (uint32_t i = 0; i < t->n_claims; i++)
        if (t->claims[i].base < base || t->claims[i].end > end)
            t->claims[kept++] = t->claims[i];
    if (kept == t->n_claims)
        error = mt_error_set(TRACER_EINVAL, "no claim lies inside the %zu bytes at %p", bytes,
                             (void *)(uintptr_t)addr);
    t->claims_number += kept < t->n_claims;
    t->n_claims = kept;
    mt_os_lock_release(t->lock);
    return error;
}
