/* SPDX-License-Identifier: MIT */
/* claim/linux: a thread's stack from glibc's own descriptor of it.
 * In: the robust list's head of a thread, which the kernel knows. Out: stack, size, guard.
 * Called by threads.c. Must not take glibc's locks; every word read is checked, since lists and
 * threads change meanwhile.
 * Uses: get_robust_list (2.6.17); the tid lies two words below the list's head in every 64-bit
 * glibc; the symbols for thread_db (glibc 2.34). */
#define _GNU_SOURCE
#include "claim/linux/descriptor.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HEAD_TO_TID 16u
#define SEARCH_WORDS 224u /* behind the head; 59 words in glibc 2.36 */
#define STACK_BYTES_MOST (UINT64_C(1) << 40)

uint64_t mt_descriptor_head(uint32_t tid)
{
    uint64_t head = 0;
    size_t bytes = 0;

    if (syscall(SYS_get_robust_list, (int)tid, &head, &bytes))
        return 0;
    return head;
}

static bool tid_fits(int32_t stored, uint32_t tid)
{
    return tid ? stored == (int32_t)tid : stored <= 0;
}

/* A stack that holds its own descriptor. */
static bool words_fit(const uint64_t *w, uint64_t head)
{
    return w[0] && w[0] <= head && w[1] > 0 && w[1] < STACK_BYTES_MOST && head - w[0] < w[1] &&
           w[2] < w[1];
}

static bool words_are_pages(const uint64_t *w, uint64_t page)
{
    return w[0] % page == 0 && w[1] % page == 0 && w[2] % page == 0;
}

/* Words behind the head, up to the end of its region, or of its page: the descriptor is the last
 * thing in its stack, and the guard of the next one, never present, may follow in the same region
 * (glibc 2.42). */
static uint32_t read_words(const struct mt_look *look, uint64_t head, uint64_t *out)
{
    uint32_t i = mt_snapshot_find(look->snapshot, head);
    uint64_t bytes = SEARCH_WORDS * 8, in_page = mt_look_page_up(look, head + 1) - head;

    if (i == look->snapshot->n_regions)
        return 0;
    if (look->snapshot->regions[i].end - head < bytes)
        bytes = (look->snapshot->regions[i].end - head) / 8 * 8;
    if (in_page < bytes && !mt_remote_present(look->remote, head + in_page))
        bytes = in_page;
    return bytes && mt_remote_read(look->remote, head, out, bytes) ? (uint32_t)(bytes / 8) : 0;
}

static void learn(const struct mt_look *look, struct mt_descriptor_layout *layout, uint64_t head,
                  uint32_t tid)
{
    uint64_t words[SEARCH_WORDS];
    uint32_t n = read_words(look, head, words), hits = 0;
    int32_t stored;

    if (!mt_remote_read(look->remote, head - HEAD_TO_TID, &stored, sizeof(stored)) ||
        !tid_fits(stored, tid))
        return;
    for (uint32_t i = 0; i + 3 <= n; i++)
        if (words_fit(words + i, head) && words_are_pages(words + i, look->remote->page_bytes)) {
            layout->offset = i * 8;
            hits++;
        }
    layout->known = hits == 1;
}

/* Both at once: of ten thousand threads each costs what one read costs. */
static bool read_descriptor(const struct mt_look *look, const struct mt_descriptor_layout *layout,
                            uint64_t head, int32_t *out_tid, uint64_t *out_words)
{
    char bytes[HEAD_TO_TID + SEARCH_WORDS * 8];
    size_t at = HEAD_TO_TID + layout->offset;

    if (!mt_remote_read(look->remote, head - HEAD_TO_TID, bytes, at + 3 * sizeof(*out_words)))
        return false;
    memcpy(out_tid, bytes, sizeof(*out_tid));
    memcpy(out_words, bytes + at, 3 * sizeof(*out_words));
    return true;
}

bool mt_descriptor_stack(const struct mt_look *look, struct mt_descriptor_layout *layout,
                         uint64_t head, uint32_t tid, struct mt_stack *out)
{
    uint64_t w[3];
    int32_t stored;

    if (head < HEAD_TO_TID || head % 8)
        return false;
    if (!layout->known)
        learn(look, layout, head, tid);
    if (!layout->known || !read_descriptor(look, layout, head, &stored, w) ||
        !tid_fits(stored, tid) || !words_fit(w, head) ||
        !mt_look_is_mapped(look, w[0], w[0] + w[1]))
        return false;
    *out = (struct mt_stack){.base = w[0], .bytes = w[1], .guard_bytes = w[2]};
    return true;
}

/* ---- stacks of ended threads ---- */

/* thread_db's symbols are { bits, count, offset }. */
static bool offset_of(const char *symbol, uint64_t *out)
{
    const uint32_t *words = dlsym(RTLD_DEFAULT, symbol);

    if (!words)
        return false;
    *out = words[2];
    return true;
}

void mt_stack_cache_resolve(struct mt_stack_cache *out)
{
    void *global = dlsym(RTLD_DEFAULT, "_rtld_global");
    struct mt_stack_cache c = {.list = 0};
    uint64_t user;

    *out = c;
    if (!global || !offset_of("_thread_db_rtld_global__dl_stack_user", &user) ||
        !offset_of("_thread_db_pthread_list", &c.node_offset) ||
        !offset_of("_thread_db_pthread_tid", &c.tid_offset))
        return;
    c.list = (uint64_t)(uintptr_t)global + user + 16; /* the list behind the one of user stacks */
    *out = c;
}

uint32_t mt_stack_cache_read(const struct mt_stack_cache *c, const struct mt_look *look,
                             struct mt_descriptor_layout *layout, struct mt_stack *out,
                             uint32_t capacity)
{
    uint64_t node = c->list;
    uint32_t n = 0;

    while (c->list && n < capacity) {
        uint64_t head;

        if (!mt_remote_read(look->remote, node, &node, sizeof(node)) || node == c->list)
            break;
        head = node - c->node_offset + c->tid_offset + HEAD_TO_TID;
        if (!mt_descriptor_stack(look, layout, head, 0, &out[n]))
            break;
        n++;
    }
    return n;
}
