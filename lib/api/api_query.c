/* SPDX-License-Identifier: MIT */
/* api: what the tracer knows, copied out of the shared part. Called by the host, any thread. */
#include <inttypes.h>
#include <string.h>

#include "api/registry.h"
#include "base/error.h"
#include "base/label.h"
#include "base/sized.h"

static const struct mt_field totals_fields[] = {
    MT_FIELD(tracer_totals, size),    MT_FIELD(tracer_totals, capacity),
    MT_FIELD(tracer_totals, n_types), MT_FIELD(tracer_totals, flags),
    MT_FIELD(tracer_totals, t_ns),    MT_FIELD(tracer_totals, wall_ns),
    MT_FIELD(tracer_totals, types),
};
static const struct mt_sized totals_kind = MT_SIZED(tracer_totals, totals_fields);

static const struct mt_field stats_fields[] = {
    MT_FIELD(tracer_stats, size),        MT_FIELD(tracer_stats, state),
    MT_FIELD(tracer_stats, n_ticks),     MT_FIELD(tracer_stats, n_missed),
    MT_FIELD(tracer_stats, n_failed),    MT_FIELD(tracer_stats, cost_wall_ns),
    MT_FIELD(tracer_stats, cost_cpu_ns), MT_FIELD(tracer_stats, longest_tick_ns),
    MT_FIELD(tracer_stats, own_bytes),   MT_FIELD(tracer_stats, file_bytes),
    MT_FIELD(tracer_stats, n_dropped),
};
static const struct mt_sized stats_kind = MT_SIZED(tracer_stats, stats_fields);

static void copy_type(tracer_type_bytes *out, uint32_t type, const struct mt_type_level *level)
{
    memset(out, 0, sizeof(*out));
    out->type = type;
    out->known = level->known;
#define MT_COLUMN(name, number, column, field, unit, description)                                  \
    if (level->known >> number & 1u)                                                               \
        out->field = (uint64_t)level->value[number];
#include "base/state_column.def"
#undef MT_COLUMN
}

int tracer_get_totals(tracer *t, tracer_totals *totals)
{
    int error = mt_registry_check(t);

    if (!error)
        error = mt_sized_check(&totals_kind, totals);
    if (error)
        return error;
    if (totals->size < sizeof(*totals) || (totals->capacity && !totals->types))
        return mt_error_set(TRACER_EINVAL, "totals: set size to sizeof(tracer_totals), capacity "
                                           "and types to an array of your own");
    mt_os_lock_acquire(t->lock);
    if (!t->levels.present)
        error = mt_error_set(TRACER_ESTATE, "there is no sample yet; tracer_sample() takes one");
    totals->n_types = 0;
    for (uint32_t type = 1; !error && type < MT_TYPE_CAPACITY; type++)
        if ((t->levels.present >> type & 1u) && totals->n_types < totals->capacity)
            copy_type(&totals->types[totals->n_types++], type, &t->levels.type[type]);
    totals->flags = t->levels_flags;
    totals->t_ns = t->levels_t_ns;
    totals->wall_ns = t->levels_wall_ns;
    mt_os_lock_release(t->lock);
    return error;
}

/* An older program's struct is shorter and gets what it has room for; a newer one's rest is 0. */
int tracer_get_stats(tracer *t, tracer_stats *stats)
{
    int error = mt_registry_check(t);
    uint32_t size;

    if (!error)
        error = mt_sized_check(&stats_kind, stats);
    if (error)
        return error;
    size = stats->size;
    memset(stats, 0, size);
    mt_os_lock_acquire(t->lock);
    mt_registry_look(t);
    memcpy(stats, &t->stats, size < sizeof(t->stats) ? size : sizeof(t->stats));
    mt_os_lock_release(t->lock);
    stats->size = size;
    return TRACER_OK;
}

int tracer_last_problem(tracer *t, char *text, size_t text_bytes)
{
    int error = mt_registry_check(t);

    if (error)
        return error;
    if (!text || text_bytes == 0)
        return mt_error_set(TRACER_EINVAL, "text: give a buffer of at least one byte");
    mt_os_lock_acquire(t->lock);
    mt_registry_look(t);
    mt_label_copy(text, text_bytes, t->problem);
    mt_os_lock_release(t->lock);
    return TRACER_OK;
}
