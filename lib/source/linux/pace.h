/* SPDX-License-Identifier: MIT */
/* Short holds of the address-space lock, with gaps: a reader that takes the lock again at once
 * starves the host's waiting mmap for milliseconds; one that sleeps as long as it held does not. */
#ifndef MT_SOURCE_LINUX_PACE_H
#define MT_SOURCE_LINUX_PACE_H

#include <stdint.h>

struct mt_pace {
    int64_t begun_ns, ended_ns;
    int64_t held_ns;     /* since the last gap */
    int64_t gap_from_ns; /* held_ns that calls for a gap; 0 = the default */
};

/* Around one system call that holds the lock. The begin sleeps when a gap is due; what was done
 * without the lock since the last call is one, too. The end returns the time of the call. */
void mt_pace_begin(struct mt_pace *p);
int64_t mt_pace_end(struct mt_pace *p);

/* How much one call asks for, adapted so that it takes about 100 µs. The unit is the user's. */
struct mt_slice {
    uint64_t units;
    uint64_t least;
    uint64_t most;
};

/* `units` were done in `ns`. Grows to four times at most, shrinks at once, but not after a call
 * that had less to do and was quick: its time is that of the call itself. */
void mt_slice_adapt(struct mt_slice *s, uint64_t units, int64_t ns);

#endif
