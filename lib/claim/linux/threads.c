/* SPDX-License-Identifier: MIT */
/* claim/linux: threads and their stacks.
 * In: the kernel's list of threads, their descriptors. Out: STACK claims with their guards, the
 * list of threads. Called by claimer.c. Must not take the C library's locks (pthread_getattr_np).
 *
 * What is found of a thread is kept as long as it lives. Where there is no descriptor (musl, Go)
 * the stack pointer of a blocked thread, or the shape of the mapping, is the next best. */
#include "claim/linux/provider.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/os/os.h"
#include "claim/linux/descriptor.h"
#include "claim/linux/stacks.h"
#include "claim/linux/tasks.h"

#define THREADS 32768u
#define CACHED_STACKS 1024u
#define TRIES_MOST 8u /* collections in which a new thread's stack is looked for */
#define NAMES_READ_A_ROUND 16u
#define YOUNG_ROUNDS                                                                               \
    3u /* in which a thread's name is read again: it is named after it starts …                  \
        */
#define OLD_NAMES_READ 4u /* … and seldom later: these, in turn, … */
#define ROUNDS_BETWEEN_OLD_NAMES 4u
#define NEW_A_ROUND_LEAST 512u /* threads examined whatever the deadline */
#define POINTERS_READ_A_ROUND 8u
#define ROUNDS_BETWEEN_CACHE_WALKS 16u

struct known_thread {
    struct mt_thread shown;
    uint64_t identity;
    uint32_t owner;
    uint32_t seen; /* round */
    uint8_t n_tries;
    uint8_t n_named;
    char confidence; /* of the stack; 0 = none known */
};

struct mt_threads {
    uint32_t n, next_name;
    uint32_t n_examined; /* in this round */
    int64_t until_ns;    /* new threads are examined, 0 = as long as it takes */
    bool changed;        /* a thread began or ended in this round */
    struct mt_descriptor_layout layout;
    struct mt_stack_cache cache;
    uint32_t n_cached;
    struct mt_stack cached[CACHED_STACKS];
    struct mt_tasks tasks;
    struct known_thread known[THREADS]; /* by tid */
};

int mt_threads_new(uint32_t pid, const struct mt_stack_cache *cache, struct mt_threads **out)
{
    struct mt_threads *t = mt_memory_alloc(sizeof(*t));

    if (!t)
        return mt_error_set(TRACER_ENOMEM, "no address space for the list of threads");
    mt_tasks_open(&t->tasks, pid);
    if (!pid)
        t->cache = *cache;
    *out = t;
    return TRACER_OK;
}

void mt_threads_free(struct mt_threads *t)
{
    if (!t)
        return;
    mt_tasks_close(&t->tasks);
    mt_memory_free(t);
}

/* A look at a thread not seen before costs some ten microseconds, and thousands may begin at once:
 * what the deadline leaves is for the next collections. */
static bool may_examine(struct mt_threads *t, struct mt_look *look)
{
    if (t->n_examined++ < NEW_A_ROUND_LEAST || !t->until_ns || mt_os_monotonic_ns() < t->until_ns)
        return true;
    look->out->partial = true;
    return false;
}

/* Listing takes half of the time, their stacks the other. */
static void plan_time(struct mt_threads *t, const struct mt_look *look)
{
    int64_t now = mt_os_monotonic_ns(), left = look->out->deadline_ns - now;

    t->n_examined = 0;
    t->until_ns = look->out->deadline_ns ? now + (left > 0 ? left / 2 : 0) : 0;
}

/* ---- which threads there are ---- */

static struct known_thread *find(struct mt_threads *t, uint32_t n, uint32_t tid)
{
    uint32_t low = 0, high = n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (t->known[middle].shown.tid < tid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && t->known[low].shown.tid == tid ? &t->known[low] : NULL;
}

static void set_name(struct known_thread *k, const struct mt_look *look, const char *name)
{
    k->shown.name = mt_look_string(look, name);
    k->owner = mt_strings_addf(look->strings, "thread %s", name);
}

static void begin_thread(struct mt_threads *t, const struct mt_look *look, struct known_thread *k,
                         uint32_t tid, uint64_t identity)
{
    char name[MT_TASK_NAME_BYTES] = "";
    uint64_t start = 0;

    mt_tasks_stat(&t->tasks, tid, name, &start);
    if (k->shown.tid == tid && k->shown.start_ticks == start && start) {
        k->identity = identity; /* the kernel forgot the number of its directory, not the thread */
        return;
    }
    memset(k, 0, sizeof(*k));
    k->shown.tid = tid;
    k->shown.start_ticks = start;
    k->identity = identity;
    set_name(k, look, name);
    t->changed = true;
}

static struct known_thread *append(struct mt_threads *t, struct mt_look *look)
{
    if (t->n == THREADS) {
        look->out->truncated = true;
        return NULL;
    }
    memset(&t->known[t->n], 0, sizeof(t->known[0]));
    return &t->known[t->n++];
}

/* To list a thread for the first time costs, too: without time, the list ends when all that were
 * known have been met. New ones come last in it. */
static void list_threads(struct mt_threads *t, struct mt_look *look)
{
    uint32_t n_before = t->n, n_met = 0, tid;
    uint64_t identity;

    mt_tasks_rewind(&t->tasks);
    while ((!look->out->partial || n_met < n_before) && mt_tasks_next(&t->tasks, &tid, &identity)) {
        struct known_thread *k = find(t, n_before, tid);
        bool examine = (!k || k->identity != identity) && may_examine(t, look);

        n_met += k != NULL;
        if (!k && examine)
            k = append(t, look);
        if (!k)
            continue;
        if (examine)
            begin_thread(t, look, k, tid, identity);
        k->seen = look->round;
    }
}

static void drop_ended(struct mt_threads *t, uint32_t round)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < t->n; i++)
        if (t->known[i].seen == round)
            t->known[kept++] = t->known[i];
    t->changed = t->changed || kept < t->n;
    t->n = kept;
}

/* By insertion: new threads come last and mostly have the highest numbers. */
static void sort_known(struct mt_threads *t)
{
    for (uint32_t i = 1; i < t->n; i++) {
        struct known_thread moving = t->known[i];
        uint32_t at = i;

        for (; at > 0 && t->known[at - 1].shown.tid > moving.shown.tid; at--)
            t->known[at] = t->known[at - 1];
        if (at < i)
            t->known[at] = moving;
    }
}

static void refresh_name(const struct mt_threads *t, const struct mt_look *look,
                         struct known_thread *k)
{
    char name[MT_TASK_NAME_BYTES];

    if (mt_tasks_name(&t->tasks, k->shown.tid, name) &&
        strcmp(name, mt_strings_get(look->strings, k->shown.name, NULL)))
        set_name(k, look, name);
}

static void refresh_names(struct mt_threads *t, const struct mt_look *look)
{
    uint32_t n_read = 0;

    for (uint32_t i = 0; i < t->n && n_read < NAMES_READ_A_ROUND; i++)
        if (t->known[i].n_named < YOUNG_ROUNDS && t->known[i].n_named++ > 0) {
            refresh_name(t, look, &t->known[i]);
            n_read++;
        }
    if (look->round % ROUNDS_BETWEEN_OLD_NAMES)
        return;
    for (uint32_t i = 0; i < OLD_NAMES_READ && i < t->n; i++)
        refresh_name(t, look, &t->known[t->next_name++ % t->n]);
}

/* ---- where their stacks are ---- */

static void set_stack(struct known_thread *k, const struct mt_stack *stack, char confidence)
{
    k->shown.stack_base = stack->base;
    k->shown.stack_bytes = stack->bytes;
    k->shown.guard_bytes = stack->guard_bytes;
    k->confidence = confidence;
}

static void find_by_pointer(struct mt_threads *t, const struct mt_look *look,
                            struct known_thread *k)
{
    uint64_t pointer = mt_tasks_stack_pointer(&t->tasks, k->shown.tid);
    uint32_t i = mt_snapshot_find(look->snapshot, pointer);
    struct mt_stack stack;

    if (pointer && i < look->snapshot->n_regions && mt_stack_above_guard(look, i, &stack))
        set_stack(k, &stack, MT_CONFIDENCE_B);
}

static void find_stacks(struct mt_threads *t, struct mt_look *look)
{
    uint32_t n_pointers = 0;

    for (uint32_t i = 0; i < t->n; i++) {
        struct known_thread *k = &t->known[i];
        struct mt_stack stack;
        uint64_t head;

        if (k->shown.tid == look->pid || k->confidence || k->n_tries >= TRIES_MOST)
            continue;
        head = mt_descriptor_head(k->shown.tid);
        if (head && mt_descriptor_stack(look, &t->layout, head, k->shown.tid, &stack))
            set_stack(k, &stack, MT_CONFIDENCE_A);
        else if (n_pointers++ < POINTERS_READ_A_ROUND)
            find_by_pointer(t, look, k);
        else
            continue;
        k->n_tries++;
    }
}

/* The main thread's stack grows: it is looked up each time. */
static void find_main_stack(struct mt_threads *t, const struct mt_look *look)
{
    struct known_thread *k = find(t, t->n, look->pid);
    struct mt_stack stack;

    if (!k)
        return;
    for (uint32_t i = look->snapshot->n_regions; i-- > 0;) {
        const struct mt_region *r = &look->snapshot->regions[i];

        if (!mt_look_has_name(look, r, "[stack]"))
            continue;
        stack = (struct mt_stack){.base = r->base, .bytes = r->end - r->base};
        set_stack(k, &stack, MT_CONFIDENCE_A);
        return;
    }
}

/* Stacks that the C library keeps change only when threads begin or end. */
static void find_cached(struct mt_threads *t, const struct mt_look *look)
{
    if (t->changed || look->round % ROUNDS_BETWEEN_CACHE_WALKS == 0)
        t->n_cached = mt_stack_cache_read(&t->cache, look, &t->layout, t->cached, CACHED_STACKS);
}

/* ---- claims ---- */

static void show_cached(const struct mt_threads *t, struct mt_look *look)
{
    uint32_t owner = t->n_cached ? mt_look_string(look, "cached stack") : 0;

    for (uint32_t i = 0; i < t->n_cached; i++) {
        struct mt_thread s = {.stack_base = t->cached[i].base,
                              .stack_bytes = t->cached[i].bytes,
                              .guard_bytes = t->cached[i].guard_bytes};

        mt_stack_claim(look, &s, owner, MT_CLAIM_CACHED, MT_CONFIDENCE_A);
    }
}

static void show_threads(const struct mt_threads *t, struct mt_look *look)
{
    struct mt_claim_set *out = look->out;

    for (uint32_t i = 0; i < t->n; i++) {
        const struct known_thread *k = &t->known[i];

        if (out->n_threads == out->thread_capacity) {
            out->truncated = true;
            return;
        }
        out->threads[out->n_threads++] = k->shown;
        if (k->confidence)
            mt_stack_claim(look, &k->shown, k->owner, 0, k->confidence);
    }
}

void mt_threads_collect(struct mt_threads *t, struct mt_look *look)
{
    t->changed = look->round == 1;
    plan_time(t, look);
    list_threads(t, look);
    drop_ended(t, look->round);
    sort_known(t);
    if (t->n > 0)
        refresh_names(t, look);
    find_stacks(t, look);
    find_main_stack(t, look);
    find_cached(t, look);
    mt_stacks_show_shapes(look);
    show_cached(t, look);
    show_threads(t, look);
}
