/* SPDX-License-Identifier: MIT */
/* source/linux: the cheap counters of a process, from text.
 * In: lines of /proc/PID/status, the line of /proc/PID/stat. Out: counters, with what was read.
 * Called by process_counters.c. Pure. Must not mix the two files' memory figures: those of stat are
 * approximate even where those of status are exact. */
#include "source/linux/status.h"

#include <string.h>

#include "base/compiler.h"
#include "source/linux/cursor.h"

/* VmPMD was a line of its own until 4.15; since then VmPTE holds it. */
static const struct {
    const char *name;
    enum mt_counter counter;
    unsigned factor;
} keys[] = {
    {"VmSize", MT_COUNTER_VM_SIZE, 1024},
    {"RssAnon", MT_COUNTER_RSS_ANON, 1024},
    {"RssFile", MT_COUNTER_RSS_FILE, 1024},
    {"RssShmem", MT_COUNTER_RSS_SHMEM, 1024},
    {"VmSwap", MT_COUNTER_SWAP, 1024},
    {"VmPTE", MT_COUNTER_PAGE_TABLE, 1024},
    {"VmPMD", MT_COUNTER_PAGE_TABLE, 1024},
    {"Threads", MT_COUNTER_THREADS, 1},
    {"voluntary_ctxt_switches", MT_COUNTER_VOLUNTARY_SWITCHES, 1},
    {"nonvoluntary_ctxt_switches", MT_COUNTER_FORCED_SWITCHES, 1},
};

bool mt_status_knows(const struct mt_counters *counters, enum mt_counter counter)
{
    return counters->known >> counter & 1u;
}

void mt_status_set(struct mt_counters *counters, enum mt_counter counter, uint64_t value)
{
    counters->known |= UINT64_C(1) << counter;
    counters->value[counter] = value;
}

static unsigned key_find(const char *name, size_t bytes)
{
    unsigned i = 0;

    while (i < MT_COUNT_OF(keys) &&
           (strlen(keys[i].name) != bytes || memcmp(keys[i].name, name, bytes) != 0))
        i++;
    return i;
}

void mt_status_line(const char *line, size_t n_bytes, struct mt_counters *out)
{
    const char *colon = n_bytes > 0 ? memchr(line, ':', n_bytes) : NULL;
    struct mt_cursor c;
    uint64_t value;
    unsigned k;

    if (!colon || (k = key_find(line, (size_t)(colon - line))) == MT_COUNT_OF(keys))
        return;
    c = (struct mt_cursor){colon + 1, line + n_bytes};
    mt_cursor_blanks(&c);
    if (!mt_cursor_number(&c, 10, &value) || value > UINT64_MAX / keys[k].factor)
        return;
    value *= keys[k].factor;
    if (mt_status_knows(out, keys[k].counter))
        value += out->value[keys[k].counter];
    mt_status_set(out, keys[k].counter, value);
}

/* The program's name stands in parentheses and may hold any byte, ')' and blanks too. */
static const char *after_name(const char *line, size_t n_bytes)
{
    for (size_t i = n_bytes; i > 0; i--)
        if (line[i - 1] == ')')
            return line + i;
    return NULL;
}

bool mt_status_stat(const char *line, size_t n_bytes, uint64_t ticks_per_second,
                    struct mt_counters *out)
{
    enum { STATE = 3, MINFLT = 10, MAJFLT = 12, UTIME = 14, STIME = 15, FIELDS = 16 };
    struct mt_cursor c = {after_name(line, n_bytes), line + n_bytes};
    uint64_t field[FIELDS] = {0};

    if (!c.at || ticks_per_second == 0)
        return false;
    for (unsigned i = STATE; i < FIELDS; i++) {
        mt_cursor_blanks(&c);
        if (c.at == c.end)
            return false;
        mt_cursor_number(&c, 10, &field[i]);
        while (c.at < c.end && *c.at != ' ')
            c.at++;
    }
    mt_status_set(out, MT_COUNTER_MINOR_FAULTS, field[MINFLT]);
    mt_status_set(out, MT_COUNTER_MAJOR_FAULTS, field[MAJFLT]);
    mt_status_set(out, MT_COUNTER_CPU_NS,
                  (field[UTIME] + field[STIME]) * (UINT64_C(1000000000) / ticks_per_second));
    return true;
}
