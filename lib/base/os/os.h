/* SPDX-License-Identifier: MIT */
/* What a port must write that is not about memory regions: pages, clocks, lock, thread, process.
 * One folder an OS; nothing above base/os knows which. All functions may be called from any
 * thread unless they say otherwise. errno does not cross this border. */
#ifndef MT_BASE_OS_H
#define MT_BASE_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- pages ---- */
void *mt_os_pages_map(size_t bytes); /* private, read-write, zeroed, not reserved; NULL = none */
void mt_os_pages_unmap(void *p, size_t bytes);
size_t mt_os_page_bytes(void);

/* ---- clocks ---- */
int64_t mt_os_monotonic_ns(void);
int64_t mt_os_wall_ns(void);       /* since 1970 */
int64_t mt_os_thread_cpu_ns(void); /* of the calling thread, user + system; -1 = unknown */

/* ---- lock with a condition ---- */
struct mt_os_lock; /* mutex and condition variable on the monotonic clock */
int mt_os_lock_new(struct mt_os_lock **out);
void mt_os_lock_free(struct mt_os_lock *l);
void mt_os_lock_acquire(struct mt_os_lock *l);
void mt_os_lock_release(struct mt_os_lock *l);
/* Waits, the lock held, until signalled or the deadline; false = deadline passed.
 * INT64_MAX = no deadline. Wakes up without cause now and then. */
bool mt_os_lock_wait(struct mt_os_lock *l, int64_t deadline_monotonic_ns);
void mt_os_lock_signal_all(struct mt_os_lock *l);

/* ---- the sampler's thread ---- */
struct mt_os_thread;
/* Starts a thread that hurts nobody: asynchronous signals blocked, normal scheduling, all CPUs of
 * the process, a stack of its own from mt_memory, the given name. TRACER_ETHREAD with a detail. */
int mt_os_thread_start(const char *name, void (*run)(void *user), void *user,
                       struct mt_os_thread **out);
/* Waits for its end, `timeout_ns` at most; false = still there, or gone without having ended (its
 * memory is then kept). */
bool mt_os_thread_join(struct mt_os_thread *t, int64_t timeout_ns);
/* False when the system ended the thread, and it alone, as a system call filter does: it will
 * answer nobody. True where the OS cannot tell. */
bool mt_os_thread_alive(const struct mt_os_thread *t);
/* True when none of the host's threads is left, so that the process would have ended but for those
 * that were started here. `n_threads` is what the process has, its ended leader included. Linux. */
bool mt_os_thread_is_deserted(uint64_t n_threads);
/* To be called first in the new thread: a descriptor table of its own, where the OS can, and root
 * and current folders of its own, so that the file's path means the same after a chroot. Returns
 * false when the thread shares the host's descriptors. */
bool mt_os_thread_own_descriptors(void);
/* The block and the OS's id of the calling thread. */
uint32_t mt_os_thread_id(void);

/* ---- descriptors (POSIX) ----
 * A thread that shares the host's may find its own closed and the host's files at their numbers.
 * So what it holds longer than for a few calls goes through keep and close, and each call on it is
 * preceded by is_ours: it then never waits for, reads, moves, writes or closes what is the host's.
 * Between that and the call a moment is left. In a thread with a table of its own none of the three
 * costs a system call. */

/* Moves it to a number that no host comes to, so that neither a host that closed 0 to 2 nor one
 * that closes all gets to write into our file, and notes which file it is. Takes -1, too; returns
 * -1, with the descriptor closed, when there is no number for it. */
int mt_os_descriptor_keep(int descriptor);
/* False when the number is no longer the file that was kept: it is lost, and not to be used. */
bool mt_os_descriptor_is_ours(int descriptor);
/* Closes what was kept, unless it is lost. Takes -1, too. */
void mt_os_descriptor_close(int descriptor);

/* ---- process ---- */
uint32_t mt_os_process_id(void);
/* A number that changes in every child of fork(); cheap, no system call. */
uint32_t mt_os_fork_generation(void);
/* Absolute path of `path`, by the current directory. False = too long or no directory. */
bool mt_os_path_absolute(const char *path, char *out, size_t out_bytes);
/* Makes an empty file that only this user may read, where there is none; path as SQLite takes it
 * (UTF-8 on Windows). What stands there already stays as it is. Does nothing where a file has the
 * rights of its folder (Windows). */
void mt_os_file_create(const char *path);
/* Empty text when nobody but this user, root and the owners of the path's folders decides what
 * stands under `path`, its -wal, -shm and -journal; else a sentence that names what is wrong. A
 * folder that all may write to (/tmp) lets anybody put a link or a file there before us; a link
 * of another user is not followed by a process that has more rights than he. Always empty where
 * folders give rights by themselves (Windows). `path` is absolute. */
void mt_os_path_distrust(const char *path, char *out, size_t out_bytes);
/* True when `path` is, or leads to, a folder, pipe or device; false for a file, and for nothing. */
bool mt_os_path_irregular(const char *path);
/* Keeps this library loaded while a tracer runs. */
void mt_os_library_pin(void);

/* Facts for table run; each leaves the text empty or the value -1 when unknown. */
struct mt_os_facts {
    char host[256];
    char os[128];
    char exe[1024];
    char name[64]; /* short program name */
    char allocator[64];
    int64_t parent_pid;
    int64_t host_memory_bytes;
    int64_t cgroup_limit_bytes;
    int64_t address_limit_bytes; /* RLIMIT_AS */
    int64_t data_limit_bytes;    /* RLIMIT_DATA */
    int64_t max_regions;         /* vm.max_map_count */
    int64_t process_start_ns;    /* wall clock, since 1970 */
};
void mt_os_facts_read(uint32_t pid, struct mt_os_facts *out);

/* True when a process of this id exists (even if it may not be looked into). */
bool mt_os_process_alive(uint32_t pid);
/* Random bytes for the run's uuid. */
void mt_os_random(void *out, size_t bytes);

#endif
