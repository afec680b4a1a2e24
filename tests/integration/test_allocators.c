/* SPDX-License-Identifier: MIT */
/* Description: the heap that is found under another allocator (jemalloc, mimalloc, gperftools from
 * the system, preloaded) after churn in five threads: what is found holds all that the allocator
 * holds, and little more; a block of the program's own stays private; the counters are the
 * allocator's. jemalloc and gperftools say themselves what they hold. mimalloc's count leaves out
 * pages it purged, which stay accessible, and what its threads have not yet reported: there the
 * mappings it asked the kernel for are logged by an mmap of this program's. One that is not
 * installed is left out, and said so. */
#define _GNU_SOURCE
#include "support/host.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MIB ((size_t)1 << 20)
#define SLOTS 2048
#define N_THREADS 4

static const char *self_path;

/* ---- what the allocators say: bytes they got from the system ---- */

static size_t said_by_jemalloc(void)
{
    int (*control)(const char *, void *, size_t *, void *, size_t);
    void *symbol = dlsym(RTLD_DEFAULT, "mallctl");
    size_t mapped = 0, retained = 0, bytes = sizeof(mapped);
    uint64_t epoch = 1;

    memcpy(&control, &symbol, sizeof(control));
    control("epoch", NULL, NULL, &epoch, sizeof(epoch));
    control("stats.mapped", &mapped, &bytes, NULL, 0);
    control("stats.retained", &retained, &bytes, NULL, 0);
    return mapped + retained;
}

/* ---- the mappings an allocator asked for ---- */

#define LOGGED 4096

static struct logged {
    uintptr_t base, end;
    void *caller;
} logged[LOGGED];
static size_t n_logged;
static atomic_flag log_lock = ATOMIC_FLAG_INIT;

static void add_logged(uintptr_t base, uintptr_t end, void *caller)
{
    if (base < end && n_logged < LOGGED)
        logged[n_logged++] = (struct logged){base, end, caller};
}

/* What is mapped over, or unmapped, is nobody's any more. */
static void cut_logged(uintptr_t base, uintptr_t end)
{
    for (size_t i = n_logged; i-- > 0;) {
        struct logged l = logged[i];

        if (l.end <= base || end <= l.base)
            continue;
        logged[i] = logged[--n_logged];
        add_logged(l.base, base < l.end ? base : l.end, l.caller);
        add_logged(end > l.base ? end : l.base, l.end, l.caller);
    }
}

static void note(uintptr_t base, size_t bytes, void *caller)
{
    while (atomic_flag_test_and_set(&log_lock))
        ;
    cut_logged(base, base + bytes);
    if (caller)
        add_logged(base, base + bytes, caller);
    atomic_flag_clear(&log_lock);
}

/* By its label: with 64-bit offsets the headers call mmap by another name, libraries do not. */
void *mmap_for_libraries(void *address, size_t bytes, int rights, int flags, int file,
                         off_t offset) __asm__("mmap");

void *mmap_for_libraries(void *address, size_t bytes, int rights, int flags, int file, off_t offset)
{
    long at = syscall(SYS_mmap, address, bytes, rights, flags, file, offset);

    if (at != -1)
        note((uintptr_t)at, (bytes + 4095) / 4096 * 4096, __builtin_return_address(0));
    return (void *)at;
}

int munmap(void *address, size_t bytes)
{
    note((uintptr_t)address, (bytes + 4095) / 4096 * 4096, NULL);
    return (int)syscall(SYS_munmap, address, bytes);
}

static size_t mapped_by(const char *library)
{
    size_t bytes = 0;
    Dl_info in;

    assert_true(n_logged < LOGGED);
    for (size_t i = 0; i < n_logged; i++)
        if (dladdr(logged[i].caller, &in) && strstr(in.dli_fname, library))
            bytes += logged[i].end - logged[i].base;
    return bytes;
}

static size_t said_by_mimalloc(void)
{
    return mapped_by("libmimalloc");
}

static size_t said_by_gperftools(void)
{
    int (*get)(const char *, size_t *);
    void *symbol = dlsym(RTLD_DEFAULT, "MallocExtension_GetNumericProperty");
    size_t heap = 0;

    memcpy(&get, &symbol, sizeof(get));
    get("generic.heap_size", &heap);
    return heap;
}

/* What is found and what is said are read one after the other, while the tracer's own thread
 * allocates, too; gperftools leaves out its own tables, 8 MiB. */
static const struct allocator {
    const char *name, *library;
    size_t (*said)(void);
    size_t bytes_more;
} allocators[] = {
    {"jemalloc", "libjemalloc.so.2", said_by_jemalloc, 4 * MIB},
    {"mimalloc", "libmimalloc.so.2.0", said_by_mimalloc, 4 * MIB},
    {"gperftools", "libtcmalloc_minimal.so.4", said_by_gperftools, 12 * MIB},
};

/* ---- the child: churn, then a look ---- */

static pthread_barrier_t meet;

static void churn(void **slots, unsigned seed)
{
    for (unsigned i = 0; i < 30000; i++) {
        unsigned at = (seed = seed * 1103515245u + 12345u) >> 8;
        size_t bytes = at % 20 == 0 ? 1000 + at % 400000 : 16 + at % 2000;

        free(slots[at % SLOTS]);
        slots[at % SLOTS] = malloc(bytes);
        memset(slots[at % SLOTS], 1, bytes);
    }
}

static void *work(void *user)
{
    void **slots = calloc(SLOTS, sizeof(*slots));

    churn(slots, (unsigned)(uintptr_t)user);
    pthread_barrier_wait(&meet);
    pthread_barrier_wait(&meet);
    for (unsigned i = 0; i < SLOTS; i++)
        free(slots[i]);
    free(slots);
    return NULL;
}

static void expect_own_mapping_is_private(const char *own)
{
    char sql[200];

    snprintf(sql, sizeof(sql),
             "SELECT type FROM region_now WHERE base_address <= printf('0x%%012x', %llu) AND "
             "end_address > printf('0x%%012x', %llu)",
             (unsigned long long)(uintptr_t)own, (unsigned long long)(uintptr_t)own);
    assert_string_equal(host_ask(sql).text, "private");
}

static void expect_heap(const struct allocator *a, tracer *t)
{
    tracer_type_bytes heap = host_row(t, TRACER_TYPE_HEAP);
    uint64_t found = heap.size_bytes;
    size_t said = a->said();

    print_message("%s: %llu bytes found, it says %zu\n", a->name, (unsigned long long)found, said);
    assert_in_range(found, said, said + a->bytes_more);
    assert_true(host_ask("SELECT count(*) FROM counter k JOIN counter_kind n ON n.id = k.counter "
                         "WHERE n.name = 'heap_system' AND k.value > 0")
                    .integer > 0);
}

static void check_in_child(const struct allocator *a)
{
    pthread_t ids[N_THREADS];
    char *own = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    tracer *t;

    assert_int_equal(host_begin(NULL), 0);
    madvise(own, 4 * MIB, MADV_DONTFORK); /* keeps it apart from its neighbours */
    memset(own, 1, 4 * MIB);
    t = host_start(3600000);
    pthread_barrier_init(&meet, NULL, N_THREADS + 1);
    for (uintptr_t i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&ids[i], NULL, work, (void *)(i + 1)), 0);
    pthread_barrier_wait(&meet);
    host_row(t, TRACER_TYPE_HEAP);
    expect_heap(a, t);
    expect_own_mapping_is_private(own);
    pthread_barrier_wait(&meet);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(ids[i], NULL);
    tracer_stop(t);
    host_end(NULL);
}

static int64_t last_by_timer(const char *type)
{
    char sql[300];

    snprintf(sql, sizeof(sql),
             "SELECT l.ws FROM level l JOIN type y ON y.id = l.type WHERE y.name = '%s' AND "
             "l.sample <= (SELECT max(id) FROM sample WHERE NOT flags & 512) "
             "ORDER BY l.sample DESC LIMIT 1",
             type);
    return host_ask(sql).integer;
}

/* A heap that grows between samples that are asked for is heap soon, not only when smaps is due
 * after a minute: that jemalloc's memory does not count against the commit limit only smaps says.
 */
static void check_growth_in_child(void)
{
    enum { N = 40 };
    const struct timespec rest = {3, 0};
    static char *volatile blocks[N];
    tracer *t;

    assert_int_equal(host_begin(NULL), 0);
    t = host_start(20);
    nanosleep(&rest, NULL);
    for (int i = 0; i < N; i++) {
        blocks[i] = malloc(MIB);
        memset(blocks[i], 1, MIB);
    }
    nanosleep(&rest, NULL); /* reading smaps may cost a two-hundredth of that */
    tracer_stop(t);
    assert_true(last_by_timer("heap") >= N * (int64_t)MIB);
    assert_true(last_by_timer("private") < 8 * (int64_t)MIB); /* with the 4 MiB of above */
    host_end(NULL);
}

/* ---- the parent: one child for each allocator ---- */

static const struct allocator *wanted;

static void child(void **state)
{
    (void)state;
    check_in_child(wanted);
}

static void growth_of_jemalloc(void **state)
{
    (void)state;
    if (wanted == &allocators[0])
        check_growth_in_child();
}

static bool preloads(const char *library)
{
    void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    char path[128];

    if (handle)
        dlclose(handle);
    snprintf(path, sizeof(path), "/usr/lib/x86_64-linux-gnu/%s", library);
    if (access(path, R_OK) == 0)
        return true;
    snprintf(path, sizeof(path), "/usr/lib/aarch64-linux-gnu/%s", library);
    return access(path, R_OK) == 0;
}

static void run_child(const struct allocator *a)
{
    pid_t pid;
    int status = 0;

    if (!preloads(a->library)) {
        print_message("left out: %s is not installed\n", a->library);
        return;
    }
    pid = fork();
    if (pid == 0) {
        setenv("LD_PRELOAD", a->library, 1);
        execl(self_path, self_path, a->name, (char *)NULL);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void each_allocator_by_its_own_word(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(allocators) / sizeof(allocators[0]); i++)
        run_child(&allocators[i]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest in_child[] = {cmocka_unit_test(child),
                                          cmocka_unit_test(growth_of_jemalloc)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(HOST_EXACT(each_allocator_by_its_own_word))};

    self_path = argv[0];
    for (size_t i = 0; argc > 1 && i < sizeof(allocators) / sizeof(allocators[0]); i++)
        if (!strcmp(argv[1], allocators[i].name))
            wanted = &allocators[i];
    if (wanted)
        return cmocka_run_group_tests(in_child, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
