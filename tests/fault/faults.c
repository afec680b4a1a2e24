/* SPDX-License-Identifier: MIT */
/* tests: see faults.h. A kind of call is counted only between faults_begin() and faults_end(). */
#undef _FILE_OFFSET_BITS
#define _GNU_SOURCE
#include "faults.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct faults faults, *faults_of_child;

static bool is_child;
static struct fault armed;
static bool (*split)(struct fault *f);
static atomic_bool counting;
static atomic_bool sqlite_call_begins;
static char output[FAULT_OUT_BYTES];
static size_t output_bytes;

static bool split_off(enum fault_kind kind, unsigned n)
{
    atomic_store(&counting, false);
    armed = (struct fault){kind, n, false, false};
    if (split(&armed))
        split = NULL;
    atomic_store(&counting, true);
    return !split;
}

static bool fault(enum fault_kind kind)
{
    unsigned n;

    if (!atomic_load(&counting))
        return false;
    n = atomic_fetch_add(&faults.passed[kind], 1) + 1;
    if (kind == FAULT_SQLITE_MEMORY && atomic_exchange(&sqlite_call_begins, false) &&
        faults.n_sqlite_first < FAULT_CALLS_MOST)
        faults.sqlite_first[faults.n_sqlite_first++] = n;
    if (split && !split_off(kind, n))
        return false;
    return kind == armed.kind && armed.n && armed.in_child == is_child &&
           (n == armed.n || (n > armed.n && armed.stays));
}

static bool fails(enum fault_kind kind, int error)
{
    if (!fault(kind))
        return false;
    errno = error;
    return true;
}

/* ---- memory of the program ---- */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *p, size_t bytes);
char *__real_strdup(const char *text);
void __real_free(void *p);
void *__real_mt_os_pages_map(size_t bytes);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *p, size_t bytes);
char *__wrap_strdup(const char *text);
void __wrap_free(void *p);
void *__wrap_mt_os_pages_map(size_t bytes);

static void *taken(void *p)
{
    if (p && atomic_load(&counting))
        atomic_fetch_add(&faults.live, 1);
    return p;
}

void *__wrap_malloc(size_t bytes)
{
    return fails(FAULT_MEMORY, ENOMEM) ? NULL : taken(__real_malloc(bytes));
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return fails(FAULT_MEMORY, ENOMEM) ? NULL : taken(__real_calloc(n, bytes));
}

void *__wrap_realloc(void *p, size_t bytes)
{
    if (fails(FAULT_MEMORY, ENOMEM))
        return NULL;
    return p ? __real_realloc(p, bytes) : taken(__real_realloc(p, bytes));
}

char *__wrap_strdup(const char *text)
{
    return fails(FAULT_MEMORY, ENOMEM) ? NULL : taken(__real_strdup(text));
}

void __wrap_free(void *p)
{
    if (p && atomic_load(&counting))
        atomic_fetch_sub(&faults.live, 1);
    __real_free(p);
}

void *__wrap_mt_os_pages_map(size_t bytes)
{
    return fails(FAULT_MEMORY, ENOMEM) ? NULL : __real_mt_os_pages_map(bytes);
}

/* ---- memory of SQLite ---- */

static sqlite3_mem_methods sqlite_memory;

static void *sqlite_malloc(int bytes)
{
    return fault(FAULT_SQLITE_MEMORY) ? NULL : sqlite_memory.xMalloc(bytes);
}

static void *sqlite_realloc(void *p, int bytes)
{
    return fault(FAULT_SQLITE_MEMORY) ? NULL : sqlite_memory.xRealloc(p, bytes);
}

/* Where one call into SQLite ends and the next begins. */
#define SQLITE_CALL(result, name, parameters, arguments)                                           \
    result __real_sqlite3_##name parameters;                                                       \
    result __wrap_sqlite3_##name parameters;                                                       \
    result __wrap_sqlite3_##name parameters                                                        \
    {                                                                                              \
        atomic_store(&sqlite_call_begins, true);                                                   \
        return __real_sqlite3_##name arguments;                                                    \
    }

SQLITE_CALL(int, open_v2, (const char *path, sqlite3 **db, int flags, const char *vfs),
            (path, db, flags, vfs))
SQLITE_CALL(int, prepare_v2,
            (sqlite3 * db, const char *sql, int n, sqlite3_stmt **s, const char **tail),
            (db, sql, n, s, tail))
SQLITE_CALL(int, prepare_v3,
            (sqlite3 * db, const char *sql, int n, unsigned flags, sqlite3_stmt **s,
             const char **tail),
            (db, sql, n, flags, s, tail))
SQLITE_CALL(int, exec,
            (sqlite3 * db, const char *sql, int (*row)(void *, int, char **, char **), void *user,
             char **error),
            (db, sql, row, user, error))
SQLITE_CALL(int, step, (sqlite3_stmt * s), (s))
SQLITE_CALL(int, reset, (sqlite3_stmt * s), (s))
SQLITE_CALL(int, finalize, (sqlite3_stmt * s), (s))
SQLITE_CALL(int, close, (sqlite3 * db), (db))
SQLITE_CALL(const unsigned char *, column_text, (sqlite3_stmt * s, int i), (s, i))
SQLITE_CALL(const void *, column_blob, (sqlite3_stmt * s, int i), (s, i))
SQLITE_CALL(int, bind_text, (sqlite3_stmt * s, int i, const char *text, int n, void (*end)(void *)),
            (s, i, text, n, end))
SQLITE_CALL(sqlite3_str *, str_new, (sqlite3 * db), (db))
SQLITE_CALL(char *, str_finish, (sqlite3_str * s), (s))
SQLITE_CALL(const char *, create_filename,
            (const char *db, const char *journal, const char *wal, int n, const char **words),
            (db, journal, wal, n, words))

#define REAL(name)                                                                                 \
    static __typeof__(&name) real;                                                                 \
    if (!real)                                                                                     \
    *(void **)&real = dlsym(RTLD_NEXT, #name)

/* The shared memory beside a WAL. */
void *mmap64(void *at, size_t bytes, int protection, int flags, int fd, off64_t offset)
{
    REAL(mmap64);
    return flags & MAP_SHARED && fails(FAULT_MEMORY, ENOMEM)
               ? MAP_FAILED
               : real(at, bytes, protection, flags, fd, offset);
}

/* ---- files ---- */

int open64(const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list args;
    REAL(open64);

    va_start(args, flags);
    if (flags & (O_CREAT | __O_TMPFILE))
        mode = va_arg(args, mode_t);
    va_end(args);
    if (fails(flags & O_CREAT ? FAULT_WRITE : FAULT_READ, flags & O_CREAT ? ENOSPC : EMFILE))
        return -1;
    return real(path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...)
{
    REAL(openat64);
    return fails(FAULT_READ, EMFILE) ? -1 : real(folder, path, flags);
}

ssize_t read(int fd, void *to, size_t bytes)
{
    REAL(read);
    return fails(FAULT_READ, EIO) ? -1 : real(fd, to, bytes);
}

ssize_t pread64(int fd, void *to, size_t bytes, off64_t at)
{
    REAL(pread64);
    return fails(FAULT_READ, EIO) ? -1 : real(fd, to, bytes, at);
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long n_to,
                         const struct iovec *from, unsigned long n_from, unsigned long flags)
{
    REAL(process_vm_readv);
    return fails(FAULT_READ, EFAULT) ? -1 : real(pid, to, n_to, from, n_from, flags);
}

long __real_syscall(long number, long a, long b, long c, long d);
long __wrap_syscall(long number, long a, long b, long c, long d);

long __wrap_syscall(long number, long a, long b, long c, long d)
{
    return number == SYS_getdents64 && fails(FAULT_READ, EIO) ? -1
                                                              : __real_syscall(number, a, b, c, d);
}

ssize_t write(int fd, const void *from, size_t bytes)
{
    REAL(write);
    return fails(FAULT_WRITE, ENOSPC) ? -1 : real(fd, from, bytes);
}

ssize_t pwrite64(int fd, const void *from, size_t bytes, off64_t at)
{
    REAL(pwrite64);
    return fails(FAULT_WRITE, ENOSPC) ? -1 : real(fd, from, bytes, at);
}

int ftruncate64(int fd, off64_t bytes)
{
    REAL(ftruncate64);
    return fails(FAULT_WRITE, EIO) ? -1 : real(fd, bytes);
}

int fsync(int fd)
{
    REAL(fsync);
    return fails(FAULT_WRITE, EIO) ? -1 : real(fd);
}

int fdatasync(int fd)
{
    REAL(fdatasync);
    return fails(FAULT_WRITE, EIO) ? -1 : real(fd);
}

int rename(const char *from, const char *to)
{
    REAL(rename);
    return fails(FAULT_WRITE, EIO) ? -1 : real(from, to);
}

int mkdir(const char *path, mode_t mode)
{
    REAL(mkdir);
    return fails(FAULT_WRITE, ENOSPC) ? -1 : real(path, mode);
}

/* ---- calls ---- */

int ioctl(int fd, unsigned long what, ...)
{
    va_list args;
    void *argument;
    REAL(ioctl);

    va_start(args, what);
    argument = va_arg(args, void *);
    va_end(args);
    return fails(FAULT_CALL, EIO) ? -1 : real(fd, what, argument);
}

int pipe(int ends[2])
{
    REAL(pipe);
    return fails(FAULT_CALL, EMFILE) ? -1 : real(ends);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *user)
{
    REAL(pthread_create);
    return fails(FAULT_CALL, EAGAIN) ? EAGAIN : real(thread, attributes, run, user);
}

pid_t fork(void)
{
    pid_t pid;
    REAL(fork);

    if (fails(FAULT_CALL, EAGAIN))
        return -1;
    pid = real();
    if (pid == 0 && atomic_load(&counting)) {
        is_child = true;
        memset(&faults, 0, sizeof(faults));
    }
    return pid;
}

int execv(const char *path, char *const argv[])
{
    REAL(execv);
    if (fails(FAULT_CALL, ENOMEM))
        return -1;
    if (faults_of_child)
        *faults_of_child = faults;
    return real(path, argv);
}

/* ---- */

/* Of a cookie, 0 is the error. */
static ssize_t output_write(void *cookie, const char *from, size_t bytes)
{
    (void)cookie;
    if (fails(FAULT_WRITE, ENOSPC) || bytes > sizeof(output) - output_bytes)
        return 0;
    memcpy(output + output_bytes, from, bytes);
    output_bytes += bytes;
    return (ssize_t)bytes;
}

void faults_install(void)
{
    sqlite3_mem_methods failing;

    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &sqlite_memory))
        abort();
    failing = sqlite_memory;
    failing.xMalloc = sqlite_malloc;
    failing.xRealloc = sqlite_realloc;
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &failing))
        abort();
}

void faults_begin(const struct fault *f)
{
    const cookie_io_functions_t calls = {NULL, output_write, NULL, NULL};

    armed = *f;
    stdout = fopencookie(NULL, "w", calls);
    atomic_store(&counting, true);
}

void faults_explore(bool (*at)(struct fault *f))
{
    split = at;
    faults_begin(&(struct fault){0});
}

size_t faults_output(const char **out)
{
    *out = output;
    return output_bytes;
}

void faults_end(void)
{
    atomic_store(&counting, false);
}
