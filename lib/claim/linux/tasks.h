/* SPDX-License-Identifier: MIT */
/* The threads of a process as the kernel lists them; descriptors stay open between looks. */
#ifndef MT_CLAIM_LINUX_TASKS_H
#define MT_CLAIM_LINUX_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_TASK_NAME_BYTES 64

struct mt_tasks {
    int directory; /* /proc/PID/task, -1 = none */
    size_t at, filled;
    char buffer[32 * 1024];
};

/* pid 0 = this process. */
void mt_tasks_open(struct mt_tasks *t, uint32_t pid);
void mt_tasks_close(struct mt_tasks *t);

void mt_tasks_rewind(struct mt_tasks *t);
/* The next thread; `out_identity` changes when a number is used again. False = no more. */
bool mt_tasks_next(struct mt_tasks *t, uint32_t *out_tid, uint64_t *out_identity);

/* Both leave `out_name` NUL-terminated. False = the thread has ended. */
bool mt_tasks_stat(const struct mt_tasks *t, uint32_t tid, char *out_name, uint64_t *out_start);
bool mt_tasks_name(const struct mt_tasks *t, uint32_t tid, char *out_name);

/* Where a blocked thread's stack pointer is; 0 = it runs, or may not be asked. */
uint64_t mt_tasks_stack_pointer(const struct mt_tasks *t, uint32_t tid);

#endif
