/* SPDX-License-Identifier: MIT */
/* claim/linux: names that allocators and runtimes give to their mappings.
 * In: [anon:…] labels (Linux 5.17, prctl PR_SET_VMA_ANON_NAME) and a few file names. Out: claims
 * with the label as owner. Called by claimer.c. A name met before costs one look into a table.
 * Each row has its source in memtracer(7) or in the project named by the label. */
#include "claim/linux/provider.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/memory.h"

#define NAMES 262144u
#define RULE_UNKNOWN 0u
#define RULE_NONE 1u
#define RULE_FIRST 2u

struct name_rule {
    const char *prefix;
    uint8_t type;
    char confidence;
    uint32_t flags;   /* MT_CLAIM_… */
    bool ends_in_tid; /* a thread's number follows the prefix */
};

#define HEAP(prefix)                                                                               \
    {                                                                                              \
        prefix, MT_TYPE_HEAP, 'A', 0, false                                                        \
    }
#define MANAGED(prefix)                                                                            \
    {                                                                                              \
        prefix, MT_TYPE_MANAGED_HEAP, 'A', 0, false                                                \
    }
#define STACK(prefix)                                                                              \
    {                                                                                              \
        prefix, MT_TYPE_STACK, 'A', 0, false                                                       \
    }

/* The longer prefix stands before the shorter one. */
static const struct name_rule rules[] = {
    {"[anon:memtracer", MT_TYPE_TRACER, 'A', 0, false},
    HEAP("[anon: glibc: malloc"),
    {"[anon: glibc: loader malloc", MT_TYPE_IMAGE, 'A', 0, false},
    {"[anon: glibc: pthread stack: ", MT_TYPE_STACK, 'A', 0, true},
    {"[anon: glibc: pthread user stack: ", MT_TYPE_STACK, 'A', 0, true},
    {"[anon: glibc: unused stack", MT_TYPE_STACK, 'A', MT_CLAIM_CACHED, false},
    {"[anon: glibc: .bss", MT_TYPE_IMAGE, 'A', 0, false},
    HEAP("[anon:mimalloc"),
    HEAP("[anon:jemalloc_pg"),
    HEAP("[anon:tcmalloc_region_"),
    HEAP("[anon:snmalloc"),
    HEAP("[anon:scudo"),
    HEAP("[anon:libc_malloc"),
    HEAP("[anon:GWP-ASan"),
    HEAP("[anon:partition_alloc"),
    HEAP("[anon:Heap Layer"),
    {"[anon: Go: heap reservation", MT_TYPE_MANAGED_HEAP, 'A', MT_CLAIM_RESERVED, false},
    MANAGED("[anon: Go: "),
    MANAGED("[anon:dalvik-"),
    MANAGED("[anon:cpython:"),
    MANAGED("[anon:v8"),
    MANAGED("[anon:blink_gc"),
    STACK("[anon:Ruby:nt_alloc_thread_stack_chunk"),
    MANAGED("[anon:Ruby:"),
    MANAGED("[anon:OCaml: "),
    STACK("[anon:stack_and_tls:"),
    STACK("[anon:kj_fiber_stack"),
    {"/memfd:java_heap", MT_TYPE_MANAGED_HEAP, 'B', 0, false},
    {"/memfd:doublemapper", MT_TYPE_MANAGED_HEAP, 'B', 0, false},
    {"/memfd:jit-", MT_TYPE_MANAGED_HEAP, 'B', 0, false},
    {"/dev/shm/doublemapper_", MT_TYPE_MANAGED_HEAP, 'B', 0, false},
};

struct mt_names {
    uint8_t rule_of[NAMES]; /* by string id: RULE_UNKNOWN, RULE_NONE, or index + RULE_FIRST */
};

int mt_names_new(struct mt_strings *strings, struct mt_names **out)
{
    *out = mt_memory_alloc(sizeof(**out));
    if (!*out)
        return mt_error_set(TRACER_ENOMEM, "no address space for a table of names");
    for (size_t i = 0; i < MT_COUNT_OF(rules); i++)
        mt_strings_keep_kind(strings, rules[i].prefix);
    return TRACER_OK;
}

void mt_names_free(struct mt_names *n)
{
    mt_memory_free(n);
}

static uint8_t match(const char *name)
{
    for (size_t i = 0; i < MT_COUNT_OF(rules); i++)
        if (!strncmp(name, rules[i].prefix, strlen(rules[i].prefix)))
            return (uint8_t)(i + RULE_FIRST);
    return RULE_NONE;
}

static const struct name_rule *rule_of(struct mt_names *n, const struct mt_look *look,
                                       uint32_t name)
{
    uint8_t rule = name < NAMES ? n->rule_of[name] : RULE_UNKNOWN;

    if (rule == RULE_UNKNOWN) {
        rule = match(mt_strings_get(look->strings, name, NULL));
        if (name < NAMES)
            n->rule_of[name] = rule;
    }
    return rule == RULE_NONE ? NULL : &rules[rule - RULE_FIRST];
}

static void claim_named(struct mt_look *look, const struct mt_region *r,
                        const struct name_rule *rule)
{
    struct mt_claim c = {.base = r->base,
                         .end = r->end,
                         .owner = r->name,
                         .flags = rule->flags | (r->protection ? 0 : MT_CLAIM_RESERVED),
                         .type = rule->type,
                         .rank = MT_RANK_NAME,
                         .confidence = rule->confidence};

    if (rule->ends_in_tid)
        c.thread = (uint32_t)strtoul(
            mt_strings_get(look->strings, r->name, NULL) + strlen(rule->prefix), NULL, 10);
    mt_claim_add(look->out, &c);
}

void mt_names_collect(struct mt_names *n, struct mt_look *look)
{
    for (uint32_t i = 0; i < look->snapshot->n_regions; i++) {
        const struct mt_region *r = &look->snapshot->regions[i];
        const struct name_rule *rule = r->name ? rule_of(n, look, r->name) : NULL;

        if (rule)
            claim_named(look, r, rule);
    }
}
