/* SPDX-License-Identifier: MIT */
/* record: a child of fork() must not find SQLite's locks held by a thread it does not have.
 *
 * SQLite guards its heap and caches with locks of the whole process. If the host forks while the
 * sampler is inside SQLite, the child's first use of SQLite, the host's own included, would wait
 * for ever. So a fork waits until the sampler has left, but not longer than a host may be made to
 * wait; the sampler holds those locks for microseconds, and none while it waits for a disk. */
#ifndef MT_RECORD_FORK_GATE_H
#define MT_RECORD_FORK_GATE_H

/* Around everything that calls SQLite in the recorder's thread; may be nested. */
void mt_fork_gate_enter(void);
void mt_fork_gate_leave(void);

#endif
