/* SPDX-License-Identifier: MIT */
/* source/linux: gaps between holds of the address-space lock, and the size of one hold.
 * In: begin and end of a system call. Out: its time; a sleep before the next when holds add up.
 * Called by lines.c, scan.c and pagemap.c. Must not sleep while nothing was held.
 * Uses: nanosleep. */
#define _GNU_SOURCE
#include "source/linux/pace.h"

#include <time.h>

#include "base/os/os.h"

/* Holds add up to this before a sleep: a sleep and the cold caches after it cost 5 to 15 µs, and
 * a host's mmap that waits a fifth of a millisecond is still within the noise of its own faults. */
#define GAP_FROM_NS 200000

/* A call that was interrupted for long says nothing about the lock: no gap is longer. */
#define GAP_MOST_NS 2000000

#define SLICE_NS 100000

/* The gap is made before the next call and not after the last: what else there is to do is a gap as
 * well, and a look whose last call makes it due ends without one. */
void mt_pace_begin(struct mt_pace *p)
{
    int64_t now_ns = mt_os_monotonic_ns(), idle_ns = now_ns - p->ended_ns;
    int64_t gap_ns = p->held_ns < GAP_MOST_NS ? p->held_ns : GAP_MOST_NS;

    p->begun_ns = now_ns;
    if (idle_ns >= gap_ns) {
        p->held_ns = 0;
    } else if (p->held_ns >= (p->gap_from_ns ? p->gap_from_ns : GAP_FROM_NS)) {
        struct timespec gap = {0, (long)(gap_ns - idle_ns)};

        nanosleep(&gap, NULL);
        p->held_ns = 0;
        p->begun_ns = mt_os_monotonic_ns();
    }
}

int64_t mt_pace_end(struct mt_pace *p)
{
    int64_t ns;

    p->ended_ns = mt_os_monotonic_ns();
    ns = p->ended_ns - p->begun_ns;
    p->held_ns += ns;
    return ns;
}

void mt_slice_adapt(struct mt_slice *s, uint64_t units, int64_t ns)
{
    double fit = (double)units * SLICE_NS / (double)(ns > 0 ? ns : 1);
    double most = (double)s->units * 4;

    if (units < s->units && ns <= SLICE_NS && fit < (double)s->units)
        return;
    if (most > (double)s->most)
        most = (double)s->most;
    if (fit > most)
        fit = most;
    s->units = fit < (double)s->least ? s->least : (uint64_t)fit;
}
