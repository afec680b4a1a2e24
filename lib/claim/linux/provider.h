/* SPDX-License-Identifier: MIT */
/* What a provider gets to work with, and the providers themselves. Each keeps its memory of the
 * last collection in a struct of its own; its file says what it knows and how it knows it.
 * Layouts are those of 64-bit processes; of others only names and shapes are known. */
#ifndef MT_CLAIM_LINUX_PROVIDER_H
#define MT_CLAIM_LINUX_PROVIDER_H

#include "base/snapshot.h"
#include "claim/claim.h"
#include "claim/linux/remote.h"

enum mt_allocator {
    MT_ALLOCATOR_UNKNOWN,
    MT_ALLOCATOR_GLIBC,
    MT_ALLOCATOR_MUSL,
    MT_ALLOCATOR_JEMALLOC,
    MT_ALLOCATOR_MIMALLOC,
    MT_ALLOCATOR_TCMALLOC,
    MT_ALLOCATOR_GPERFTOOLS,
    MT_ALLOCATOR_ASAN,
    MT_ALLOCATOR_COUNT
};

enum mt_runtime {
    MT_RUNTIME_JVM,
    MT_RUNTIME_V8,
    MT_RUNTIME_CPYTHON,
    MT_RUNTIME_RUBY,
    MT_RUNTIME_LUAJIT,
    MT_RUNTIME_CORECLR,
    MT_RUNTIME_COUNT
};

struct mt_flags;

/* One collection. */
struct mt_look {
    struct mt_remote *remote;
    struct mt_strings *strings;
    const struct mt_snapshot *snapshot;
    struct mt_claim_set *out;
    const struct mt_flags *flags; /* NULL = what the regions say is all */
    uint32_t pid;                 /* the process's id, also when it is this one */
    bool self;
    uint32_t round; /* counts collections */
    enum mt_allocator allocator;
    uint64_t allocator_bytes; /* accessible, as claimed by its shape in the last collection */
    bool allocator_agrees;    /* with that, the last time its own total was asked */
    uint32_t runtimes;        /* bits 1 << enum mt_runtime: those found here */
    uint64_t own_address;     /* see mt_claimer_own_address(), 0 = unknown */
    uint64_t main_descriptor; /* in the main thread's control block, 0 = unknown */
};

/* ---- provider.c: what regions are ---- */

/* Private, without a file on disk, of use to an allocator: readable and writable, no code. */
bool mt_look_is_data(const struct mt_look *look, const struct mt_region *r);
/* Private and without a file on disk, whatever its protection. */
bool mt_look_is_anonymous(const struct mt_look *look, const struct mt_region *r);
bool mt_look_has_name(const struct mt_look *look, const struct mt_region *r, const char *name);
bool mt_look_same_file(const struct mt_region *a, const struct mt_region *b);
/* The regions cover [base, end) without a hole. */
bool mt_look_is_mapped(const struct mt_look *look, uint64_t base, uint64_t end);
uint64_t mt_look_page_up(const struct mt_look *look, uint64_t address);
uint32_t mt_look_string(const struct mt_look *look, const char *text);

/* ---- flags.c ---- */
int mt_flags_new(struct mt_flags **out);
void mt_flags_free(struct mt_flags *f);
void mt_flags_remember(struct mt_flags *f, const struct mt_look *look);
/* MT_REGION_… of a region, with what was known of it before. `f` may be NULL. */
uint32_t mt_flags_of(const struct mt_flags *f, const struct mt_region *r);
/* False where neither this list nor an earlier one told the region's flags. */
bool mt_flags_know(const struct mt_flags *f, const struct mt_region *r);

/* ---- modules.c ---- */
struct mt_modules;
int mt_modules_new(struct mt_modules **out);
void mt_modules_free(struct mt_modules *m);
void mt_modules_collect(struct mt_modules *m, struct mt_look *look);

/* ---- threads.c ---- */
struct mt_threads;
/* pid 0 = this process, to which `cache` belongs. */
int mt_threads_new(uint32_t pid, const struct mt_stack_cache *cache, struct mt_threads **out);
void mt_threads_free(struct mt_threads *t);
void mt_threads_collect(struct mt_threads *t, struct mt_look *look);

/* ---- names.c ---- */
struct mt_names;
int mt_names_new(struct mt_strings *strings, struct mt_names **out);
void mt_names_free(struct mt_names *n);
void mt_names_collect(struct mt_names *n, struct mt_look *look);

/* ---- heap_brk.c ---- */
void mt_heap_brk_collect(struct mt_look *look);

/* ---- heap_glibc.c ---- */
struct mt_arenas;
int mt_arenas_new(struct mt_arenas **out);
void mt_arenas_free(struct mt_arenas *a);
void mt_arenas_collect(struct mt_arenas *a, struct mt_look *look);
uint32_t mt_arenas_count(const struct mt_arenas *a); /* arenas beside the main one */

/* ---- heap_chunks.c ---- */
struct mt_chunks;
int mt_chunks_new(struct mt_chunks **out);
void mt_chunks_free(struct mt_chunks *c);
void mt_chunks_collect(struct mt_chunks *c, struct mt_look *look);
/* malloc's own totals of such blocks: guesses of the last collection are confirmed or refuted. */
void mt_chunks_judge(struct mt_chunks *c, uint64_t mapped_bytes, uint64_t n_mapped);

/* ---- blocks.c ---- */
enum mt_block_kind {
    MT_BLOCK_MALLOC,
    MT_BLOCK_MUSL,
    MT_BLOCK_PYTHON,
    MT_BLOCK_RUBY,
    MT_BLOCK_LUAJIT,
    MT_BLOCK_V8,
    MT_BLOCK_KINDS
};
struct mt_block {
    uint64_t base, end;
    uint8_t kind; /* enum mt_block_kind */
    char confidence;
};
struct mt_block_owner {
    const char *name;
    uint8_t type, rank;
    uint32_t flags; /* MT_CLAIM_… */
};
extern const struct mt_block_owner mt_block_owners[MT_BLOCK_KINDS];
/* The block that glibc's malloc mapped alone at `base` and that ends at `limit` at most. */
bool mt_malloc_block_read(const struct mt_look *look, uint64_t base, uint64_t limit,
                          struct mt_block *out);
/* The same for musl's malloc, which is recognised by nothing else in a static program. */
bool mt_musl_block_read(const struct mt_look *look, uint64_t base, uint64_t limit,
                        struct mt_block *out);
/* The first of them from `after` on, a page boundary; `limit` when none is near. */
uint64_t mt_musl_next_block(const struct mt_look *look, uint64_t after, uint64_t limit);
/* The block of a runtime's (look->runtimes) that begins at `base` and ends at `limit` at most;
 * fills all of `out` but base. */
bool mt_runtime_block_read(const struct mt_look *look, uint64_t base, uint64_t limit,
                           struct mt_block *out);

/* ---- allocator.c ---- */
/* Asks the dynamic linker: see mt_claim_symbols_find(). */
enum mt_allocator mt_allocator_resolve(struct mt_allocator_calls *out);
/* By the names of the modules in look->out. */
enum mt_allocator mt_allocator_detect(const struct mt_look *look);
/* linked_in.c: by what is in the program's own file, for a static one. Reads much: once. */
enum mt_allocator mt_allocator_linked_in(const struct mt_look *look);
void mt_allocator_collect(struct mt_look *look);
/* Also compares what is claimed with the allocator's own total: where they agree, the shape is no
 * guess any more. */
void mt_allocator_counters(struct mt_look *look, const struct mt_allocator_calls *calls,
                           struct mt_counters *inout);

/* ---- runtimes.c ---- */
/* Finds the runtimes by the modules in look->out, and claims by windows and shapes. */
void mt_runtimes_collect(struct mt_look *look);

#endif
