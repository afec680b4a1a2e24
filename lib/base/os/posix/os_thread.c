/* SPDX-License-Identifier: MIT */
/* base/os/posix: the sampler's thread, made so that the host does not notice it.
 * In: a function. Out: a thread with its own stack, signals blocked, normal scheduling.
 * Called by sampler/ only. Must not print, must restore the caller's signal mask exactly.
 * Uses: sched_setaffinity; prctl PR_SET_NAME; ioprio_set (2.6.13); tgkill; get_robust_list. */
#define _GNU_SOURCE
#include "base/os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include "base/compiler.h"
#include "base/error.h"
#include "base/memory.h"

#define STACK_BYTES (256u * 1024)
#define STACK_BYTES_MAX (16u * 1024 * 1024)
#define LOOK_AGAIN_NS INT64_C(200000000) /* a thread that was killed wakes nobody up */

struct mt_os_thread {
    pthread_t id;
    void (*run)(void *user);
    void *user;
    char name[16];
    void *stack;
    struct mt_os_lock *lock;
    bool done;           /* under lock */
    atomic_uint task_id; /* 0 = has not begun yet */
};

#if defined(__linux__)
/* What the process was given to run on (taskset, cpuset), before any of its threads pinned itself:
 * the creator may be pinned to one CPU, and so may be the main thread. */
static cpu_set_t cpus_at_load;
static bool cpus_are_known;

MT_CONSTRUCTOR static void note_cpus(void)
{
    cpus_are_known = sched_getaffinity(0, sizeof(cpus_at_load), &cpus_at_load) == 0;
}

#define IOPRIO_WHO_PROCESS 1
#define IOPRIO_CLASS_SHIFT 13
#define IOPRIO_CLASS_REALTIME 1

/* A thread starts with all that its creator has. What makes the creator more urgent than the rest
 * of the process must not make the sampler so: it would take the time of those it watches. */
static void be_ordinary(void)
{
    struct sched_param normal = {.sched_priority = 0};

    if (sched_getscheduler(0) != SCHED_OTHER)
        sched_setscheduler(0, SCHED_OTHER, &normal);
    if (cpus_are_known)
        sched_setaffinity(0, sizeof(cpus_at_load), &cpus_at_load);
    errno = 0;
    if (getpriority(PRIO_PROCESS, 0) < 0 && !errno)
        setpriority(PRIO_PROCESS, 0, 0);
#if defined(SYS_ioprio_get) && defined(SYS_ioprio_set)
    if (syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0) >> IOPRIO_CLASS_SHIFT ==
        IOPRIO_CLASS_REALTIME)
        syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, 0);
#endif
}
#else
static void be_ordinary(void)
{
}
#endif

/* Those that run here; a forked child has none of its parent's. */
static atomic_uint n_running, of_generation;

static void count_this(void)
{
    unsigned generation = mt_os_fork_generation();

    if (atomic_exchange(&of_generation, generation) != generation)
        atomic_store(&n_running, 0);
    atomic_fetch_add(&n_running, 1);
}

static void *thread_main(void *user)
{
    struct mt_os_thread *t = user;

    count_this();
    atomic_store(&t->task_id, mt_os_thread_id());
#if defined(__linux__)
    prctl(PR_SET_NAME, t->name);
#endif
    be_ordinary();
    t->run(t->user);
    atomic_fetch_sub(&n_running, 1);
    mt_os_lock_acquire(t->lock);
    t->done = true;
    mt_os_lock_signal_all(t->lock);
    mt_os_lock_release(t->lock);
    return NULL;
}

/* sigfillset leaves out what the C library needs for itself (setuid in all threads). Signals of
 * faults stay deliverable, else a fault would be an unconditional kill without the host's handler;
 * but not where the creator blocks them: such a host waits for them elsewhere, and one that was
 * sent would come to the sampler and end the process. abort() unblocks SIGABRT by itself. */
static void block_asynchronous_signals(sigset_t *before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t set;

    pthread_sigmask(SIG_SETMASK, NULL, before);
    sigfillset(&set);
    for (size_t i = 0; i < MT_COUNT_OF(faults); i++)
        if (!sigismember(before, faults[i]))
            sigdelset(&set, faults[i]);
    pthread_sigmask(SIG_SETMASK, &set, NULL);
}

static int create_with_stack(struct mt_os_thread *t, size_t stack_bytes)
{
    size_t guard = mt_os_page_bytes();
    pthread_attr_t attributes;
    sigset_t before;
    int error;

    t->stack = mt_memory_alloc(guard + stack_bytes);
    if (!t->stack)
        return ENOMEM;
    mprotect(t->stack, guard, PROT_NONE); /* an overflow must hit nobody's memory */
    pthread_attr_init(&attributes);
    error = pthread_attr_setstack(&attributes, (char *)t->stack + guard, stack_bytes);
    block_asynchronous_signals(&before);
    if (!error)
        error = pthread_create(&t->id, &attributes, thread_main, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (error) {
        mt_memory_free(t->stack);
        t->stack = NULL;
    }
    return error;
}

/* A host with large thread-local storage needs a larger block: the C library takes it from the
 * stack and answers EINVAL when it does not fit. */
static int create(struct mt_os_thread *t)
{
    int error = EINVAL;

    for (size_t bytes = STACK_BYTES; error == EINVAL && bytes <= STACK_BYTES_MAX; bytes *= 4)
        error = create_with_stack(t, bytes);
    return error;
}

int mt_os_thread_start(const char *name, void (*run)(void *user), void *user,
                       struct mt_os_thread **out)
{
    struct mt_os_thread *t = mt_memory_alloc(sizeof(*t));
    int error;

    if (!t)
        return mt_error_set(TRACER_ENOMEM, "no memory for the sampler thread");
    t->run = run;
    t->user = user;
    strncpy(t->name, name, sizeof(t->name) - 1);
    error = mt_os_lock_new(&t->lock);
    if (error)
        goto fail;
    error = create(t);
    if (error) {
        error = mt_error_set(TRACER_ETHREAD,
                             "the sampler thread could not be made: %s; raise the limit on "
                             "threads (ulimit -u, pids.max) or on address space (ulimit -v)",
                             strerror(error));
        goto fail;
    }
    *out = t;
    return TRACER_OK;
fail:
    mt_os_lock_free(t->lock);
    mt_memory_free(t);
    return error;
}

/* The C library calls exit() in the thread that ends last: a handler that stops the tracer then
 * runs on the very stack that would be freed. */
bool mt_os_thread_join(struct mt_os_thread *t, int64_t timeout_ns)
{
    int64_t deadline = mt_os_monotonic_ns() + timeout_ns;
    bool done;

    mt_os_lock_acquire(t->lock);
    while (!t->done && mt_os_thread_alive(t) && mt_os_monotonic_ns() < deadline)
        mt_os_lock_wait(t->lock, mt_os_monotonic_ns() + LOOK_AGAIN_NS);
    done = t->done;
    mt_os_lock_release(t->lock);
    if (!done)
        return false;
    if (pthread_equal(t->id, pthread_self()))
        return true;
    pthread_join(t->id, NULL);
    mt_os_lock_free(t->lock);
    mt_memory_free(t->stack);
    mt_memory_free(t);
    return true;
}

bool mt_os_thread_alive(const struct mt_os_thread *t)
{
#if defined(__linux__)
    uint32_t id = atomic_load(&t->task_id);

    return id == 0 || syscall(SYS_tgkill, getpid(), id, 0) == 0 || errno != ESRCH;
#else
    (void)t;
    return true;
#endif
}

uint32_t mt_os_thread_id(void)
{
#if defined(__linux__)
    return (uint32_t)syscall(SYS_gettid);
#else
    return 0;
#endif
}

#if defined(__linux__)
/* A thread that has ended has no list of locks any more, and one that lives seldom has none. */
static bool leader_may_have_ended(void)
{
    void *list = NULL;
    size_t bytes;

    return syscall(SYS_get_robust_list, getpid(), &list, &bytes) != 0 || !list;
}

/* The leader of a process that ends before other threads stays as a zombie. */
static bool leader_has_ended(void)
{
    char text[512], *end;
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return false;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n < 0 ? 0 : n] = '\0';
    end = strrchr(text, ')'); /* of the name */
    return end && end[1] == ' ' && end[2] == 'Z';
}
#endif

bool mt_os_thread_is_deserted(uint64_t n_threads)
{
#if defined(__linux__)
    return n_threads <= atomic_load(&n_running) + 1 && leader_may_have_ended() &&
           leader_has_ended();
#else
    (void)n_threads;
    return false;
#endif
}
