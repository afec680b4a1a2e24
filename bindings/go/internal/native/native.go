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

static int native_mark_in_child(void *t)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0)
        _exit(-tracer_mark(t, "child"));
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? -WEXITSTATUS(status) : 1;
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
