/* SPDX-License-Identifier: MIT */
/* 4. A type of one's own: the program knows what a range is for, the system does not.
 *
 * A pool takes 16 MiB from the heap and hands it out itself. To the system that is heap; with two
 * calls it becomes a row of its own beside heap, stack and the others, in every query.
 *
 * Introduces: tracer_type_add, tracer_claim, tracer_unclaim; tracer_get_totals without SQL.
 * Look at:    the row `pool`:
 *
 *     ./04_own_type pool.db
 *     sqlite3 -box pool.db "SELECT * FROM vmmap WHERE type IN ('pool', 'heap')"
 *
 * Next: 05_other_pid.c, which watches a process that does not link memtracer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <memtracer/memtracer.h>

enum { POOL_BYTES = 16 << 20 };

static void print_own(tracer *t, uint32_t type)
{
    tracer_type_bytes types[TRACER_TYPE_CAPACITY];
    tracer_totals totals = {0};

    totals.size = sizeof(totals);
    totals.capacity = TRACER_TYPE_CAPACITY;
    totals.types = types;
    if (tracer_get_totals(t, &totals))
        return;
    for (uint32_t i = 0; i < totals.n_types; i++)
        if (types[i].type == type)
            printf("pool: %llu bytes resident\n", (unsigned long long)types[i].ws_bytes);
}

static int watch_pool(tracer *t, char *pool)
{
    uint32_t type = 0;
    int rc = tracer_type_add(t, "pool", "blocks handed out by the pool", &type);

    if (!rc)
        rc = tracer_claim(t, pool, POOL_BYTES, type, "the example's pool");
    if (!rc) {
        memset(pool, 1, POOL_BYTES / 2); /* resident follows what is touched */
        rc = tracer_sample(t);
    }
    if (!rc)
        print_own(t, type);
    return rc;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "pool.db";
    char *pool = calloc(1, POOL_BYTES); /* large and zeroed: address space, not yet touched */
    tracer *t = NULL;
    int rc;

    if (!pool)
        return 1;
    rc = tracer_start(path, NULL, &t);
    if (!rc)
        rc = watch_pool(t, pool);
    if (rc)
        fprintf(stderr, "%s: %s\n", tracer_strerror(rc), tracer_last_error());
    if (tracer_stop(t)) /* the last sample still has the pool: claims end with their tracer, … */
        rc = 1;
    free(pool); /* … or before, with tracer_unclaim(), when the memory goes earlier */
    puts(path);
    return rc ? 1 : 0;
}
