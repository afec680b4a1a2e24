/* SPDX-License-Identifier: MIT */
/* record/posix: our copy of the index of a log, and the file that others map.
 * It holds two copies of its head, the readers' marks, page numbers and hashes.
 * In: copies that SQLite reads and writes. Out: what others changed in the file is taken over, what
 * SQLite changed is written there, in an order in which nobody takes it for what it is not. A file
 * that was cut short, emptied or put back from another day is told by that; SQLite then makes the
 * index anew. Called by vfs_shm.c, under the locks that it holds. */
#define _GNU_SOURCE
#include "record/posix/vfs_file.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/os.h"

#define PAGE_STEP 4096
#define BLOCK_BYTES 512 /* of st_blocks */

#define COPY_BYTES 48         /* of the head; both copies alike: it is whole */
#define COPIES_BYTES 96       /* of the two, which only the writer changes … */
#define HEAD_BYTES 136        /* … with the marks, each changed by the holder of its lock */
#define WORD sizeof(uint32_t) /* a mark */
#define COMPARED_AT_ONCE 256  /* bytes */
#define MOST_READS 50         /* of a head until two are alike */
#define PAGE_SIZE 14          /* of the head: bytes, 16 bits, 1 = 65,536 */
#define FILE_PAGES 20         /* of the head: what the file will have, or has */
#define LOG_HEAD_BYTES 32
#define FRAME_HEAD_BYTES 24
#define IS_INIT 12       /* of the head: 1 = there is one */
#define LOG_END 16       /* of the head: the last frame that was committed … */
#define LOG_NUMBER 32    /* … and a number, one more with each log that begins */
#define OLDER_MOST 65536 /* logs: further away it is another file's */

/* Makes the file `end` bytes long, page by page; false = no room. */
bool mt_vfs_index_fill(int fd, off_t from, off_t end)
{
    for (off_t at = from / PAGE_STEP * PAGE_STEP; at < end; at += PAGE_STEP)
        if (!mt_os_descriptor_is_ours(fd) || pwrite(fd, "", 1, at + PAGE_STEP - 1) != 1)
            return false;
    return true;
}

/* What SQLite reads and writes, and behind it what the file had when they were last alike. */
static char *ours(const struct mt_vfs_file *f, int region)
{
    return f->shm[region];
}

static char *filed(const struct mt_vfs_file *f, int region)
{
    return f->shm[region] + f->shm_bytes;
}

static off_t offset_of(const struct mt_vfs_file *f, int region, size_t at)
{
    return (off_t)region * f->shm_bytes + (off_t)at;
}

/* Writes [from, to) of our copy, whether it was changed or not. */
static void write_part(struct mt_vfs_file *f, int region, size_t from, size_t to)
{
    size_t n = to - from;

    if (!mt_os_descriptor_is_ours(f->shm_fd) ||
        pwrite(f->shm_fd, ours(f, region) + from, n, offset_of(f, region, from)) != (ssize_t)n) {
        f->shm_is_lost = f->shm_is_void = true;
        return;
    }
    memcpy(filed(f, region) + from, ours(f, region) + from, n);
}

/* What the file has there, zeros where it ends before; false = it cannot be read. */
static bool read_part(struct mt_vfs_file *f, int region, size_t at, size_t n, char *out)
{
    ssize_t got = mt_os_descriptor_is_ours(f->shm_fd)
                      ? pread(f->shm_fd, out, n, offset_of(f, region, at))
                      : -1;

    if (got < 0) {
        f->shm_is_lost = f->shm_is_void = true;
        return false;
    }
    memset(out + got, 0, n - (size_t)got);
    return true;
}

/* Writes what was changed in [from, to), and what lies between; nothing more where that failed. */
static void push_part(struct mt_vfs_file *f, int region, size_t from, size_t to, size_t step)
{
    const char *a = ours(f, region), *b = filed(f, region);
    size_t first = from, last = to;

    if (f->shm_is_lost)
        return;
    while (first < to && !memcmp(a + first, b + first, to - first < step ? to - first : step))
        first += step;
    if (first >= to)
        return;
    while (last - first > step && !memcmp(a + last - step, b + last - step, step))
        last -= step;
    write_part(f, region, first, last);
}

static bool is_writer(const struct mt_vfs_file *f)
{
    return f->shm_exclusive & MT_SHM_WRITER;
}

/* Where the file ends before what we have of it; false, too, when that cannot be told. */
static bool ends_early(const struct mt_vfs_file *f, off_t *out_end)
{
    struct stat s;

    if (!mt_os_descriptor_is_ours(f->shm_fd) || fstat(f->shm_fd, &s))
        return false;
    *out_end = s.st_size;
    return s.st_size < offset_of(f, f->n_shm, 0);
}

/* One that was cut and grew again has holes (or lies on a disk that packs). */
static bool may_be_cut(const struct mt_vfs_file *f)
{
    off_t all = offset_of(f, f->n_shm, 0);
    struct stat s;

    return mt_os_descriptor_is_ours(f->shm_fd) && fstat(f->shm_fd, &s) == 0 &&
           (s.st_size < all || (off_t)s.st_blocks * BLOCK_BYTES < all);
}

/* But for the marks all of it is the writer's: what somebody's hand left there in the meantime, or
 * took away, differs from ours and is written anew. */
static void read_back(struct mt_vfs_file *f)
{
    off_t end;

    if (ends_early(f, &end) && !mt_vfs_index_fill(f->shm_fd, end, offset_of(f, f->n_shm, 0)))
        f->shm_is_lost = f->shm_is_void = true;
    for (int i = 0; i < f->n_shm && !f->shm_is_lost; i++) {
        size_t from = i ? 0 : HEAD_BYTES;

        read_part(f, i, from, (size_t)f->shm_bytes - from, filed(f, i) + from);
    }
    if (f->n_shm > 0 && !f->shm_is_lost)
        read_part(f, 0, 0, COPIES_BYTES, filed(f, 0));
}

/* Page numbers before their hashes: who is ended in between has left a page number behind the end,
 * by which the next writer knows that there are hashes to take away. */
static void push_regions(struct mt_vfs_file *f)
{
    size_t bytes = (size_t)f->shm_bytes;

    for (int i = f->n_shm - 1; i >= 0; i--) {
        push_part(f, i, i ? 0 : HEAD_BYTES, bytes / 2, COMPARED_AT_ONCE);
        push_part(f, i, bytes / 2, bytes, COMPARED_AT_ONCE);
    }
}

/* Pages that no head speaks of yet are nobody else's concern. */
static void push_pages(struct mt_vfs_file *f)
{
    bool new_head = memcmp(ours(f, 0) + COPY_BYTES, filed(f, 0) + COPY_BYTES, COPY_BYTES) != 0;

    if (!f->shm_is_void && !new_head)
        return;
    if (f->shm_is_void || may_be_cut(f))
        read_back(f);
    push_regions(f);
}

/* What a new head speaks of is there before it, or it is not written; and its second copy before
 * its first: who finds them unlike waits. */
void mt_vfs_index_push(struct mt_vfs_file *f)
{
    if (f->n_shm == 0)
        return;
    if (is_writer(f))
        push_pages(f);
    for (size_t at = COPIES_BYTES; at < HEAD_BYTES; at += WORD)
        push_part(f, 0, at, at + WORD, WORD);
    push_part(f, 0, COPY_BYTES, COPIES_BYTES, COPY_BYTES);
    push_part(f, 0, 0, COPY_BYTES, COPY_BYTES);
    if (is_writer(f) && !f->shm_is_lost)
        f->shm_is_void = false;
}

/* Takes over what others changed of n bytes, words: ours may have some that are not there yet. */
static void take_over(struct mt_vfs_file *f, size_t at, size_t n, const char *now)
{
    char *a = ours(f, 0) + at, *b = filed(f, 0) + at;

    for (size_t i = 0; i < n; i += WORD)
        if (memcmp(now + i, b + i, WORD) != 0) {
            memcpy(a + i, now + i, WORD);
            memcpy(b + i, now + i, WORD);
        }
}

/* Head and marks as they were at one moment: one read may bring an old head and how far a later one
 * was written back. What is as it was when it was read last was so then. */
static bool read_head(struct mt_vfs_file *f, char *now)
{
    char before[HEAD_BYTES];

    memcpy(before, filed(f, 0), HEAD_BYTES);
    for (int i = 0; i < MOST_READS; i++) {
        if (!read_part(f, 0, 0, HEAD_BYTES, now))
            return false;
        if (!memcmp(now, before, HEAD_BYTES))
            return true;
        memcpy(before, now, HEAD_BYTES);
    }
    memset(now, 0, COPY_BYTES); /* SQLite asks for a lock and looks again */
    return true;
}

/* From COPIES_BYTES on: the marks alone. */
static void pull_head(struct mt_vfs_file *f, size_t from)
{
    char now[HEAD_BYTES];

    if (read_head(f, now))
        take_over(f, from, HEAD_BYTES - from, now + from);
}

/* Of pages nothing is kept that is not in the file: it was rolled back. */
static void pull_region(struct mt_vfs_file *f, int region)
{
    char now[PAGE_STEP];

    for (size_t n, at = region ? 0 : HEAD_BYTES; at < (size_t)f->shm_bytes; at += n) {
        n = PAGE_STEP - at % PAGE_STEP;
        if (!read_part(f, region, at, n, now))
            return;
        memcpy(ours(f, region) + at, now, n);
        memcpy(filed(f, region) + at, now, n);
    }
}

/* The head first, as ever: pages that are older than it would lack some that it speaks of. */
void mt_vfs_index_load(struct mt_vfs_file *f, int region)
{
    if (region == 0)
        pull_head(f, 0);
    atomic_thread_fence(memory_order_seq_cst);
    pull_region(f, region);
}

/* Of a file that was cut short nothing is believed any more: without a head SQLite makes the index
 * anew from the log, under the locks that this needs. What is being read goes on by our copy. */
static bool is_void(struct mt_vfs_file *f)
{
    if (f->shm_is_void) {
        memset(ours(f, 0), 0, COPIES_BYTES);
        memset(filed(f, 0), 0, COPIES_BYTES);
    }
    return f->shm_is_void;
}

/* Where the next page number goes: a region, and the number of those before it there. */
static int next_region(const struct mt_vfs_file *f, uint32_t *out_before)
{
    uint32_t in_first = (uint32_t)(f->shm_bytes / 2 - HEAD_BYTES) / (uint32_t)WORD;
    uint32_t in_others = (uint32_t)f->shm_bytes / 2 / (uint32_t)WORD;

    memcpy(out_before, ours(f, 0) + LOG_END, sizeof(*out_before));
    if (*out_before < in_first)
        return 0;
    *out_before -= in_first;
    in_first = *out_before / in_others;
    *out_before %= in_others;
    return 1 + (int)in_first;
}

/* A writer that was ended, or rolled back, has left pages behind those that the head speaks of; of
 * some we may have the hash alone. What of them is in the file has to be known, and goes from our
 * copy; but where a region begins, SQLite empties it itself. */
static void forget_remnants(struct mt_vfs_file *f)
{
    uint32_t before;
    uint16_t *hash;
    size_t at, half = (size_t)f->shm_bytes / 2;
    int region = next_region(f, &before);

    for (int i = region; i < f->n_shm; i++) {
        size_t from = i ? 0 : HEAD_BYTES;

        read_part(f, i, from, 2 * half - from, filed(f, i) + from);
    }
    if (region >= f->n_shm || before == 0)
        return;
    at = (region ? 0 : HEAD_BYTES) + before * WORD;
    memset(ours(f, region) + at, 0, half - at);
    hash = (uint16_t *)(void *)(ours(f, region) + half);
    for (size_t i = 0; i < half / sizeof(*hash); i++)
        if (hash[i] > before)
            hash[i] = 0;
}

/* Of another head, one that is being written or was overwritten, SQLite believes nothing. */
static bool is_whole(const char *head)
{
    return head[IS_INIT] && !memcmp(head, head + COPY_BYTES, COPY_BYTES);
}

static uint32_t number_of_log(const char *head)
{
    const unsigned char *n = (const unsigned char *)head + LOG_NUMBER;

    return (uint32_t)n[0] << 24 | (uint32_t)n[1] << 16 | (uint32_t)n[2] << 8 | n[3];
}

/* Of an older log, or of the same and ends before: somebody put an old one there. To make the index
 * anew is never wrong. */
static bool goes_back(const char *was, const char *is)
{
    uint32_t end_was, end_is, older = number_of_log(was) - number_of_log(is);

    memcpy(&end_was, was + LOG_END, sizeof(end_was));
    memcpy(&end_is, is + LOG_END, sizeof(end_is));
    return is_whole(was) && (older ? older < OLDER_MOST : end_is < end_was);
}

/* Whose head is new, of a whole one; `was` is what was there before. */
static bool is_new(struct mt_vfs_file *f, const char *was)
{
    if (!is_whole(filed(f, 0)) || !memcmp(was, filed(f, 0), COPIES_BYTES))
        return false;
    f->shm_is_void = goes_back(was, filed(f, 0));
    f->seen_bytes = 0; /* somebody may have made it smaller */
    return !is_void(f);
}

/* The head first: pages that come after it may be newer, which nobody minds. Where it is as before,
 * the log is. Who becomes the writer knows what else is where it will write. */
void mt_vfs_index_pull(struct mt_vfs_file *f, bool becomes_writer)
{
    char before[COPIES_BYTES];
    off_t end;
    bool new_head;

    if (f->n_shm == 0)
        return;
    if (is_writer(f) && !becomes_writer) {
        if (!f->shm_is_void)
            pull_head(f, COPIES_BYTES);
        return;
    }
    f->shm_is_void = f->shm_is_void || (becomes_writer && ends_early(f, &end));
    if (is_void(f))
        return;
    memcpy(before, filed(f, 0), sizeof(before));
    pull_head(f, 0);
    atomic_thread_fence(memory_order_seq_cst);
    new_head = is_new(f, before);
    for (int i = 0; new_head && i < f->n_shm; i++)
        pull_region(f, i);
    if (becomes_writer && !f->shm_is_void && is_whole(filed(f, 0)))
        forget_remnants(f);
}

/* Bytes that a log of `frames` has. */
static off_t log_bytes(uint32_t frames, off_t page_bytes)
{
    return frames ? LOG_HEAD_BYTES + (off_t)frames * (FRAME_HEAD_BYTES + page_bytes) : 0;
}

/* The sizes first: who ends a log tells so in the head before it cuts it. Of a head that is not as
 * it was when we read it last nothing is said: a log that grows is written before its head, the
 * database after it. The file may shrink to what a head says, but not below. */
bool mt_vfs_index_knows_more(struct mt_vfs_file *f, const char *log_path)
{
    char head[COPIES_BYTES];
    struct stat log, db;
    uint32_t frames, pages;
    uint16_t size;
    off_t page_bytes, least;

    if (f->n_shm == 0 || f->shm_is_void || stat(log_path, &log) ||
        !mt_os_descriptor_is_ours(f->fd) || fstat(f->fd, &db) ||
        !read_part(f, 0, 0, sizeof(head), head) || !is_whole(head) ||
        memcmp(head, filed(f, 0), sizeof(head)) != 0)
        return false;
    memcpy(&frames, head + LOG_END, sizeof(frames));
    memcpy(&pages, head + FILE_PAGES, sizeof(pages));
    memcpy(&size, head + PAGE_SIZE, sizeof(size));
    page_bytes = size == 1 ? 65536 : size;
    least = (off_t)pages * page_bytes;
    if (least > f->seen_bytes)
        least = f->seen_bytes;
    if (log.st_size < log_bytes(frames, page_bytes) || db.st_size < least)
        return true;
    least = (off_t)pages * page_bytes;
    f->seen_bytes = db.st_size < least ? db.st_size : least;
    return false;
}
