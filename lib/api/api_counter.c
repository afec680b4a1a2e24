/* SPDX-License-Identifier: MIT */
/* api: counters of the host's own. In: names and values from the host, any thread. Out: the shared
 * part, from which the next tick takes them. Must not wait for the sampler. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/registry.h"
#include "base/error.h"
#include "base/label.h"

static const char *const built_in[] = {
#define MT_COUNTER(name, id, text, unit, description) text,
#include "base/counter.def"
#undef MT_COUNTER
};

static int check_word(const char *what, const char *word)
{
    static const struct mt_counter_words room;
    size_t n = word ? strlen(word) : 0;

    if (n == 0 || n >= sizeof(room.name) ||
        strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_") != n)
        return mt_error_set(TRACER_EINVAL, "%s \"%.60s\": 1 to %d of [a-z0-9_]", what,
                            word ? word : "(NULL)", (int)sizeof(room.name) - 1);
    return TRACER_OK;
}

static int check_name(const char *name)
{
    int error = check_word("counter name", name);

    for (size_t i = 0; i < MT_COUNT_OF(built_in) && !error; i++)
        if (!strcmp(built_in[i], name))
            error = mt_error_set(TRACER_EINVAL, "counter \"%s\" is built in; choose another name",
                                 name);
    return error;
}

/* Finds or adds; under the lock. */
static int add_counter(tracer *t, const struct mt_counter_words *words, uint32_t *out_counter)
{
    uint32_t i = 0;

    while (i < t->n_counters && strcmp(t->counter_words[i].name, words->name) != 0)
        i++;
    if (i == MT_USER_COUNTERS)
        return mt_error_set(TRACER_ELIMIT, "%d counters of the host's own are all there is",
                            (int)MT_USER_COUNTERS);
    if (i == t->n_counters) {
        t->counter_words[i] = *words;
        t->n_counters++;
    }
    *out_counter = MT_COUNTER_USER_FIRST + i;
    return TRACER_OK;
}

int tracer_counter_add(tracer *t, const char *name, const char *unit, const char *description,
                       uint32_t *out_counter)
{
    struct mt_counter_words words;
    int error = mt_registry_check(t);

    if (!unit)
        unit = "count";
    if (!error)
        error = check_name(name);
    if (!error)
        error = check_word("unit", unit);
    if (error)
        return error;
    if (!out_counter)
        return mt_error_set(TRACER_EINVAL, "out_counter is NULL");
    snprintf(words.name, sizeof(words.name), "%s", name);
    snprintf(words.unit, sizeof(words.unit), "%s", unit);
    mt_label_copy(words.description, sizeof(words.description), description ? description : "");
    mt_os_lock_acquire(t->lock);
    error = add_counter(t, &words, out_counter);
    mt_os_lock_release(t->lock);
    return error;
}

int tracer_counter_set(tracer *t, uint32_t counter, int64_t value)
{
    int error = mt_registry_check(t);

    if (error)
        return error;
    mt_os_lock_acquire(t->lock);
    if (counter < MT_COUNTER_USER_FIRST || counter - MT_COUNTER_USER_FIRST >= t->n_counters) {
        error = mt_error_set(TRACER_EINVAL, "%" PRIu32 " is not a counter of tracer_counter_add()",
                             counter);
    } else {
        t->host_counters.value[counter] = (uint64_t)value;
        t->host_counters.known |= UINT64_C(1) << counter;
    }
    mt_os_lock_release(t->lock);
    return error;
}
