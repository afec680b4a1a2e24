// SPDX-License-Identifier: MIT

// Package native does for the tests what Go does not: it leaks by malloc, maps memory by hand and
// forks. Test files themselves cannot contain C.
package native

/*
#cgo pkg-config: memtracer
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <memtracer/memtracer.h>

static void *volatile native_kept; // without it the compiler leaves the block out

static void native_leak(size_t bytes)
{
    void *block = malloc(bytes);

    if (block)
        memset(block, 1, bytes);
    native_kept = block;
}

static void *native_map(size_t bytes)
{
    void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (block == MAP_FAILED)
        return NULL;
    return memset(block, 1, bytes);
}

static int native_exit_code(pid_t pid)
{
    int status = 0;

    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? -WEXITSTATUS(status) : 1;
}

static int native_mark_in_child(void *t)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(-tracer_mark(t, "child"));
    return native_exit_code(pid);
}

static int native_record(void *inherited, const char *path)
{
    tracer *own;
    int error = tracer_stop(inherited);

    if (!error)
        error = tracer_start(path, NULL, &own);
    if (!error)
        error = tracer_mark(own, "child");
    return error ? error : tracer_stop(own);
}

static int native_record_in_child(void *t, const char *path)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(-native_record(t, path));
    return native_exit_code(pid);
}
*/
import "C"

import "unsafe"

// Leak takes memory by malloc, writes to it and loses it.
func Leak(bytes int) {
	C.native_leak(C.size_t(bytes))
}

// Map takes memory from the system and writes to it.
func Map(bytes int) unsafe.Pointer {
	return C.native_map(C.size_t(bytes))
}

// Unmap gives it back.
func Unmap(at unsafe.Pointer, bytes int) {
	C.munmap(at, C.size_t(bytes))
}

// MarkInChild is what tracer_mark returns in a forked child.
func MarkInChild(tracer unsafe.Pointer) int {
	return int(C.native_mark_in_child(tracer))
}

// RecordInChild is 0 when a forked child could stop the tracer and record into a file of its own.
// Go itself does not live on there: its threads are gone.
func RecordInChild(tracer unsafe.Pointer, path string) int {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	return int(C.native_record_in_child(tracer, text))
}
