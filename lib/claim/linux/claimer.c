/* SPDX-License-Identifier: MIT */
/* claim/linux: the providers of one process, in their order.
 * In: a snapshot. Out: who owns which range, modules, threads.
 * Called by sampler/ in its thread. Must not allocate after open, take a lock of the host's or
 * fault its pages in. Order: modules before those that ask which libraries are loaded; blocks
 * last among the heaps, since all that is known bounds them. */
#define _GNU_SOURCE
#include "claim/claim.h"

#include <unistd.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/memory.h"
#include "claim/linux/descriptor.h"
#include "claim/linux/image_data.h"
#include "claim/linux/provider.h"

struct mt_claimer {
    struct mt_look look;
    struct mt_remote remote;
    struct mt_allocator_calls calls;
    struct mt_flags *flags;
    struct mt_modules *modules;
    struct mt_threads *threads;
    struct mt_names *names;
    struct mt_arenas *arenas;
    struct mt_chunks *chunks;
    struct mt_image_data *image_data;
    bool searched_program; /* for an allocator, in vain or not */
};

static void remember_flags(struct mt_claimer *c)
{
    mt_flags_remember(c->flags, &c->look);
}

static void collect_modules(struct mt_claimer *c)
{
    mt_modules_collect(c->modules, &c->look);
}

/* Symbols say more than names, but only here. */
static void find_allocator(struct mt_claimer *c)
{
    if (!c->look.self || c->look.allocator == MT_ALLOCATOR_UNKNOWN)
        c->look.allocator = mt_allocator_detect(&c->look);
    if (c->look.allocator != MT_ALLOCATOR_UNKNOWN || c->look.out->n_modules != 1 ||
        c->searched_program)
        return;
    c->searched_program = true;
    c->look.allocator = mt_allocator_linked_in(&c->look);
}

static void collect_names(struct mt_claimer *c)
{
    mt_names_collect(c->names, &c->look);
}

static void collect_runtimes(struct mt_claimer *c)
{
    mt_runtimes_collect(&c->look);
}

static void collect_mappings(struct mt_claimer *c)
{
    mt_allocator_collect(&c->look);
    mt_heap_brk_collect(&c->look);
}

static void collect_threads(struct mt_claimer *c)
{
    if (!c->look.self || !c->look.main_descriptor) /* another may have been replaced by exec */
        c->look.main_descriptor = mt_descriptor_head(c->look.pid);
    mt_threads_collect(c->threads, &c->look);
}

static void collect_arenas(struct mt_claimer *c)
{
    mt_arenas_collect(c->arenas, &c->look);
}

static void collect_chunks(struct mt_claimer *c)
{
    mt_chunks_collect(c->chunks, &c->look);
}

static void (*const providers[])(struct mt_claimer *c) = {
    remember_flags,   collect_modules, find_allocator, collect_names,  collect_runtimes,
    collect_mappings, collect_threads, collect_arenas, collect_chunks,
};

void mt_claim_symbols_find(struct mt_claim_symbols *out)
{
    out->allocator = (uint32_t)mt_allocator_resolve(&out->calls);
    mt_stack_cache_resolve(&out->stack_cache);
}

int mt_claimer_open(uint32_t pid, const struct mt_claim_symbols *symbols,
                    struct mt_strings *strings, struct mt_claimer **out)
{
    struct mt_claimer *c = mt_memory_alloc(sizeof(*c));
    int error;

    if (!c)
        return mt_error_set(TRACER_ENOMEM, "no memory for the claimer");
    mt_remote_open(&c->remote, pid);
    c->look = (struct mt_look){.remote = &c->remote,
                               .strings = strings,
                               .pid = pid ? pid : (uint32_t)getpid(),
                               .self = pid == 0};
    if (c->look.self) {
        c->look.allocator = (enum mt_allocator)symbols->allocator;
        c->calls = symbols->calls;
    }
    error = mt_flags_new(&c->flags);
    c->look.flags = c->flags;
    if (!error)
        error = mt_modules_new(&c->modules);
    if (!error)
        error = mt_threads_new(pid, &symbols->stack_cache, &c->threads);
    if (!error)
        error = mt_names_new(strings, &c->names);
    if (!error)
        error = mt_arenas_new(&c->arenas);
    if (!error)
        error = mt_chunks_new(&c->chunks);
    if (!error)
        error = mt_image_data_new(&c->image_data);
    if (error) {
        mt_claimer_close(c);
        return error;
    }
    *out = c;
    return TRACER_OK;
}

void mt_claimer_close(struct mt_claimer *c)
{
    if (!c)
        return;
    mt_remote_close(&c->remote);
    mt_flags_free(c->flags);
    mt_modules_free(c->modules);
    mt_threads_free(c->threads);
    mt_names_free(c->names);
    mt_arenas_free(c->arenas);
    mt_chunks_free(c->chunks);
    mt_image_data_free(c->image_data);
    mt_memory_free(c);
}

int mt_claimer_collect(struct mt_claimer *c, const struct mt_snapshot *snapshot,
                       struct mt_claim_set *out)
{
    out->n_claims = out->n_modules = out->n_threads = 0;
    out->truncated = out->partial = out->wants_flags = false;
    c->look.snapshot = snapshot;
    c->look.out = out;
    c->look.round++;
    mt_remote_refresh(&c->remote);
    for (size_t i = 0; i < MT_COUNT_OF(providers); i++)
        providers[i](c);
    return TRACER_OK;
}

const char *mt_claimer_allocator(const struct mt_claimer *c)
{
    static const char *const names[MT_ALLOCATOR_COUNT] = {
        [MT_ALLOCATOR_UNKNOWN] = "",
        [MT_ALLOCATOR_GLIBC] = "glibc",
        [MT_ALLOCATOR_MUSL] = "musl",
        [MT_ALLOCATOR_JEMALLOC] = "jemalloc",
        [MT_ALLOCATOR_MIMALLOC] = "mimalloc",
        [MT_ALLOCATOR_TCMALLOC] = "tcmalloc",
        [MT_ALLOCATOR_GPERFTOOLS] = "gperftools",
        [MT_ALLOCATOR_ASAN] = "asan",
    };

    return names[c->look.allocator];
}

void mt_claimer_own_address(struct mt_claimer *c, uint64_t address)
{
    c->look.own_address = address;
}

void mt_claimer_counters(struct mt_claimer *c, struct mt_counters *inout)
{
    if (!c->look.self)
        return;
    mt_allocator_counters(&c->look, &c->calls, inout);
    if (c->look.allocator == MT_ALLOCATOR_GLIBC && c->look.round > 0) {
        inout->known |= UINT64_C(1) << MT_COUNTER_HEAP_ARENAS;
        inout->value[MT_COUNTER_HEAP_ARENAS] = 1 + mt_arenas_count(c->arenas);
        if (inout->known >> MT_COUNTER_HEAP_MAPPED & 1u)
            mt_chunks_judge(c->chunks, inout->value[MT_COUNTER_HEAP_MAPPED],
                            inout->value[MT_COUNTER_HEAP_MAPPED_BLOCKS]);
    }
}

void mt_claimer_explain(struct mt_claimer *c, struct mt_interval *intervals, uint32_t n,
                        int64_t deadline_ns)
{
    mt_image_data_explain(c->image_data, &c->look, intervals, n, deadline_ns);
}
