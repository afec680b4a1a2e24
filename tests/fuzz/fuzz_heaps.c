/* SPDX-License-Identifier: MIT */
/* Description: whatever stands in a process's memory where glibc keeps its heaps, the loader its
 * list and runtimes their blocks: reading it ends, and what is claimed lies inside mappings. */
#include "claim/linux/provider.h"
#include "fuzz.h"

#define PAGE UINT64_C(4096)
#define REGIONS 12u
#define WORDS 64u
#define READS_MOST 2000000u

static struct {
    uint64_t address, value;
} words[WORDS];
static unsigned n_words, n_reads;
static struct mt_snapshot snapshot;

static bool copy(struct mt_remote *r, uint64_t address, void *out, size_t bytes)
{
    (void)r;
    FUZZ_CHECK(++n_reads < READS_MOST);
    memset(out, 0, bytes);
    for (unsigned i = 0; i < n_words; i++)
        for (unsigned b = 0; b < 8; b++)
            if (words[i].address + b - address < bytes)
                ((uint8_t *)out)[words[i].address + b - address] =
                    (uint8_t)(words[i].value >> (8 * b));
    return true;
}

static uint64_t presence(struct mt_remote *r, uint64_t first_page)
{
    uint64_t bits = 0;

    (void)r;
    for (unsigned i = 0; i < n_words; i++)
        if (words[i].address / PAGE - first_page < 64)
            bits |= UINT64_C(1) << (words[i].address / PAGE - first_page);
    return bits;
}

static const struct mt_remote_ops ops = {copy, presence};

/* An address near a region's border, or any. */
static uint64_t take_address(struct fuzz_input *in)
{
    unsigned how = (unsigned)fuzz_take(in, 1);
    const struct mt_region *r = &snapshot.regions[how % REGIONS];

    if (how >= 240 || how % REGIONS >= snapshot.n_regions)
        return fuzz_take(in, 8);
    return (how & 64 ? r->end : r->base) + (uint64_t)(int64_t)(int16_t)fuzz_take(in, 2) * 8;
}

static void make_regions(struct fuzz_input *in)
{
    static const char *const names[] = {"", "", "", "[heap]", "/lib/x.so", "[anon: glibc: malloc]"};
    uint64_t at = UINT64_C(0x7f5e40000000);

    snapshot.n_regions = (uint32_t)fuzz_take(in, 1) % REGIONS;
    for (uint32_t i = 0; i < snapshot.n_regions; i++) {
        struct mt_region *r = &snapshot.regions[i];
        const char *name = names[fuzz_take(in, 1) % 6];
        unsigned rights = (unsigned)fuzz_take(in, 1);

        memset(r, 0, sizeof(*r));
        r->base = at + fuzz_take(in, 2) % 3 * (UINT64_C(1) << 20);
        r->end = at = r->base + (fuzz_take(in, 2) + 1) * PAGE;
        r->protection = rights & 7u;
        r->flags = name[0] == '/' ? MT_REGION_FILE : 0;
        r->name = mt_strings_add(snapshot.strings, name, strlen(name));
        r->inode = name[0] == '/' ? 77 : 0;
    }
}

static void make_words(struct fuzz_input *in)
{
    for (n_words = 0; n_words < WORDS && in->left; n_words++) {
        unsigned how;

        words[n_words].address = take_address(in);
        how = (unsigned)fuzz_take(in, 1);
        words[n_words].value = how & 1u ? take_address(in) | how % 8u : fuzz_take(in, 8);
    }
}

static void look_twice(struct mt_look *look)
{
    struct mt_arenas *arenas;
    struct mt_chunks *chunks;
    struct mt_modules *modules;

    if (mt_arenas_new(&arenas) || mt_chunks_new(&chunks) || mt_modules_new(&modules))
        abort();
    for (unsigned i = 0; i < 2; i++) {
        look->out->n_claims = look->out->n_modules = 0;
        look->round++;
        mt_remote_refresh(look->remote);
        mt_modules_collect(modules, look);
        mt_arenas_collect(arenas, look);
        mt_runtimes_collect(look);
        mt_heap_brk_collect(look);
        mt_chunks_collect(chunks, look);
        for (unsigned w = 0; w < n_words; w++)
            words[w].value ^= (uint64_t)w << 12;
    }
    mt_arenas_free(arenas);
    mt_chunks_free(chunks);
    mt_modules_free(modules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    struct fuzz_input in = {data, n_bytes};
    struct mt_remote remote = {.ops = &ops, .page_bytes = PAGE};
    struct mt_strings *strings;
    struct mt_claim_set set;
    struct mt_look look = {.remote = &remote, .snapshot = &snapshot, .out = &set, .pid = 1000};

    n_reads = 0;
    if (mt_strings_new(128, 65536, &strings) || mt_snapshot_init(&snapshot, strings, REGIONS) ||
        mt_claim_set_init(&set, 256, 16, 16))
        abort();
    snapshot.space_base = 0x10000;
    snapshot.space_end = UINT64_C(0x7ffffffff000);
    look.strings = strings;
    look.allocator = (enum mt_allocator)(fuzz_take(&in, 1) % MT_ALLOCATOR_COUNT);
    look.runtimes = (uint32_t)fuzz_take(&in, 1);
    make_regions(&in);
    make_words(&in);
    look_twice(&look);
    for (uint32_t i = 0; i < set.n_claims; i++) {
        FUZZ_CHECK(set.claims[i].base < set.claims[i].end);
        FUZZ_CHECK(set.claims[i].type < MT_TYPE_CAPACITY);
    }
    mt_claim_set_release(&set);
    mt_snapshot_release(&snapshot);
    mt_strings_free(strings);
    return 0;
}
