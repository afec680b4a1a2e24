/* SPDX-License-Identifier: MIT */
/* classify: what a region is when nobody claims it.
 * In: a region of a snapshot with its neighbours. Out: type and confidence.
 * Called by overlay.c. Names are matched by the longest meaning first: the tables are in order.
 * The names the kernel prints are listed with their sources in memtracer(7). */
#include "classify/classify.h"

#include <string.h>

#define MT_ANY 0u
#define MT_SHARED_ONLY 1u
#define MT_PRIVATE_ONLY 2u

#define IMAGE_NEIGHBOURS 16
#define GUARD_PAGES_MOST 16
#define GUARDED_BYTES_LEAST (64u * 1024)

struct name_rule {
    const char *prefix;
    unsigned sharing; /* MT_ANY, MT_SHARED_ONLY, MT_PRIVATE_ONLY */
    uint8_t type;
    char confidence;
};

/* "/dev/zero (deleted)" is how the kernel names shared anonymous memory; a private mapping of the
 * device is plain private memory. */
static const struct name_rule name_rules[] = {
    {"[vdso]", MT_ANY, MT_TYPE_IMAGE, 'A'},
    {"[vvar", MT_ANY, MT_TYPE_IMAGE, 'A'},
    {"[uprobes", MT_ANY, MT_TYPE_IMAGE, 'A'},
    {"[sigpage]", MT_ANY, MT_TYPE_IMAGE, 'A'},
    {"[vectors]", MT_ANY, MT_TYPE_IMAGE, 'A'},
    {"[stack]", MT_ANY, MT_TYPE_STACK, 'A'},
    {"[stack:", MT_ANY, MT_TYPE_STACK, 'C'},
    {"[heap]", MT_ANY, MT_TYPE_HEAP, 'B'},
    {"[anon_shmem:", MT_ANY, MT_TYPE_SHAREABLE, 'A'},
    {"[anon:", MT_ANY, MT_TYPE_PRIVATE, 'B'},
    {"[", MT_ANY, MT_TYPE_PRIVATE, 'C'},
    {"anon_inode:", MT_ANY, MT_TYPE_DEVICE, 'A'},
    {"socket:", MT_ANY, MT_TYPE_DEVICE, 'A'},
    {"/[aio]", MT_ANY, MT_TYPE_DEVICE, 'A'},
    {"/memfd:", MT_ANY, MT_TYPE_SHAREABLE, 'A'},
    {"/SYSV", MT_ANY, MT_TYPE_SHAREABLE, 'A'},
    {"/secretmem", MT_ANY, MT_TYPE_PRIVATE, 'A'},
    {"/anon_hugepage", MT_SHARED_ONLY, MT_TYPE_SHAREABLE, 'A'},
    {"/anon_hugepage", MT_PRIVATE_ONLY, MT_TYPE_PRIVATE, 'A'},
    {"/i915", MT_ANY, MT_TYPE_SHAREABLE, 'A'},
    {"/drm mm object", MT_ANY, MT_TYPE_SHAREABLE, 'A'},
    {"/ttm swap", MT_ANY, MT_TYPE_SHAREABLE, 'A'},
    {"/dmabuf:", MT_ANY, MT_TYPE_SHAREABLE, 'A'},
    {"/dev/zero", MT_SHARED_ONLY, MT_TYPE_SHAREABLE, 'A'},
    {"/dev/zero", MT_PRIVATE_ONLY, MT_TYPE_PRIVATE, 'A'},
    {"/dev/shm/", MT_ANY, MT_TYPE_SHAREABLE, 'A'},
    {"/dev/ashmem", MT_ANY, MT_TYPE_SHAREABLE, 'A'},
    {"/dev/hugepages/", MT_SHARED_ONLY, MT_TYPE_SHAREABLE, 'A'},
    {"/dev/hugepages/", MT_PRIVATE_ONLY, MT_TYPE_PRIVATE, 'A'},
    {"/dev/", MT_ANY, MT_TYPE_DEVICE, 'B'},
    {"/sys/", MT_ANY, MT_TYPE_DEVICE, 'B'},
};

/* What the system itself says of a region needs no guessing. The first that fits is right. */
static const struct flag_rule {
    uint32_t flag;
    uint8_t type;
    char confidence;
    uint32_t claim_flags;
} flag_rules[] = {
    {MT_REGION_LOST, MT_TYPE_UNUSABLE, 'A', 0},
    {MT_REGION_GUARD, MT_TYPE_UNUSABLE, 'A', MT_CLAIM_GUARD},
    {MT_REGION_IMAGE, MT_TYPE_IMAGE, 'A', 0},
    {MT_REGION_DATA, MT_TYPE_MAPPED_FILE, 'A', 0},
    {MT_REGION_SECTION, MT_TYPE_SHAREABLE, 'A', 0},
    {MT_REGION_PRIVATE, MT_TYPE_PRIVATE, 'B', 0},
};

void mt_rules_keep_kinds(struct mt_strings *strings)
{
    mt_strings_keep_kind(strings, "/");
    for (size_t i = 0; i < MT_COUNT_OF(name_rules); i++)
        mt_strings_keep_kind(strings, name_rules[i].prefix);
}

static struct mt_rule_answer answer(uint8_t type, char confidence, uint32_t claim_flags)
{
    return (struct mt_rule_answer){type, confidence, claim_flags};
}

static bool sharing_fits(const struct name_rule *rule, const struct mt_region *r)
{
    bool shared = (r->flags & MT_REGION_SHARED) != 0;

    return rule->sharing == MT_ANY || (rule->sharing == MT_SHARED_ONLY) == shared;
}

static const struct name_rule *rule_of_name(const struct mt_region *r, const char *name)
{
    for (size_t i = 0; i < MT_COUNT_OF(name_rules); i++)
        if (!strncmp(name, name_rules[i].prefix, strlen(name_rules[i].prefix)) &&
            sharing_fits(&name_rules[i], r))
            return &name_rules[i];
    return NULL;
}

static const struct flag_rule *rule_of_flags(const struct mt_region *r)
{
    for (size_t i = 0; i < MT_COUNT_OF(flag_rules); i++)
        if (r->flags & flag_rules[i].flag)
            return &flag_rules[i];
    return NULL;
}

static bool same_file(const struct mt_region *a, const struct mt_region *b)
{
    return a->name == b->name && a->inode == b->inode && a->device == b->device;
}

/* Walks away from region `i` over pieces of the same file in search of an executable one. */
static bool executable_sibling(const struct mt_snapshot *s, uint32_t i, int step)
{
    for (int n = 1; n <= IMAGE_NEIGHBOURS; n++) {
        int64_t at = (int64_t)i + step * n;

        if (at < 0 || at >= s->n_regions || !same_file(&s->regions[at], &s->regions[i]))
            return false;
        if (s->regions[at].protection & MT_PROT_EXECUTE)
            return true;
    }
    return false;
}

static bool is_image(const struct mt_snapshot *s, uint32_t i)
{
    return (s->regions[i].protection & MT_PROT_EXECUTE) || executable_sibling(s, i, -1) ||
           executable_sibling(s, i, 1);
}

/* Zero-initialised data continues an object's last file-backed, writable piece. */
static bool is_bss(const struct mt_snapshot *s, uint32_t i)
{
    const struct mt_region *before = i > 0 ? &s->regions[i - 1] : NULL;

    return before && before->end == s->regions[i].base && (before->flags & MT_REGION_FILE) &&
           !(before->flags & MT_REGION_SHARED) && (before->protection & MT_PROT_WRITE) &&
           mt_strings_get(s->strings, before->name, NULL)[0] == '/' && is_image(s, i - 1);
}

/* A few pages without access directly below writable memory are somebody's guard. */
static bool is_guard(const struct mt_snapshot *s, uint32_t i)
{
    const struct mt_region *r = &s->regions[i];
    const struct mt_region *above = i + 1 < s->n_regions ? r + 1 : NULL;
    uint64_t page = r->kernel_page_bytes ? r->kernel_page_bytes : 4096;

    return r->end - r->base <= GUARD_PAGES_MOST * page && above && above->base == r->end &&
           (above->protection & MT_PROT_WRITE) && !(above->flags & MT_REGION_FILE) &&
           above->end - above->base >= GUARDED_BYTES_LEAST;
}

static struct mt_rule_answer apply_to_nameless(const struct mt_snapshot *s, uint32_t i)
{
    const struct mt_region *r = &s->regions[i];

    if (r->flags & MT_REGION_SHARED)
        return answer(MT_TYPE_SHAREABLE, 'A', 0);
    if (r->flags & MT_REGION_SHADOW_STACK)
        return answer(MT_TYPE_STACK, 'B', 0);
    if (r->flags & MT_REGION_GROWSDOWN)
        return answer(MT_TYPE_STACK, 'A', 0);
    if (!r->protection)
        return is_guard(s, i) ? answer(MT_TYPE_UNUSABLE, 'C', MT_CLAIM_GUARD)
                              : answer(MT_TYPE_PRIVATE, 'C', MT_CLAIM_RESERVED);
    if (is_bss(s, i))
        return answer(MT_TYPE_IMAGE, 'C', 0);
    return answer(MT_TYPE_PRIVATE, 'B', 0);
}

struct mt_rule_answer mt_rules_apply(const struct mt_snapshot *s, uint32_t i)
{
    const struct mt_region *r = &s->regions[i];
    const char *name = mt_strings_get(s->strings, r->name, NULL);
    bool committed = r->protection || (r->flags & MT_REGION_COMMITTED);
    uint32_t reserved = committed ? 0 : MT_CLAIM_RESERVED;
    const struct flag_rule *told = rule_of_flags(r);
    const struct name_rule *rule;

    if (told)
        return answer(told->type, told->confidence, told->claim_flags | reserved);
    if (!name[0])
        return apply_to_nameless(s, i);
    rule = rule_of_name(r, name);
    if (rule)
        return answer(rule->type, rule->confidence, reserved);
    if (r->flags & MT_REGION_DEVICE)
        return answer(MT_TYPE_DEVICE, 'A', 0);
    if (r->flags & MT_REGION_HUGETLB)
        return answer(r->flags & MT_REGION_SHARED ? MT_TYPE_SHAREABLE : MT_TYPE_PRIVATE, 'A',
                      reserved);
    if (is_image(s, i))
        return answer(MT_TYPE_IMAGE, 'B', reserved);
    return answer(MT_TYPE_MAPPED_FILE, 'A', reserved);
}
