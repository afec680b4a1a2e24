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
static const struct mt_status_key keys[] = {
    {"VmSize", 1024, MT_COUNTER_VM_SIZE},
    {"RssAnon", 1024, MT_COUNTER_RSS_ANON},
    {"RssFile", 1024, MT_COUNTER_RSS_FILE},
    {"RssShmem", 1024, MT_COUNTER_RSS_SHMEM},
    {"VmSwap", 1024, MT_COUNTER_SWAP},
    {"VmPTE", 1024, MT_COUNTER_PAGE_TABLE},
    {"VmPMD", 1024, MT_COUNTER_PAGE_TABLE},
    {"Threads", 1, MT_COUNTER_THREADS},
    {"voluntary_ctxt_switches", 1, MT_COUNTER_VOLUNTARY_SWITCHES},
    {"nonvoluntary_ctxt_switches", 1, MT_COUNTER_FORCED_SWITCHES},
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

const struct mt_status_key *mt_status_value(const char *line, size_t n_bytes,
                                            const struct mt_status_key *of, unsigned n,
                                            uint64_t *out)
{
    const char *colon = n_bytes > 0 ? memchr(line, ':', n_bytes) : NULL;
    struct mt_cursor c;
    unsigned i = 0;

    if (!colon)
        return NULL;
    while (i < n && (strlen(of[i].name) != (size_t)(colon - line) ||
                     memcmp(of[i].name, line, (size_t)(colon - line)) != 0))
        i++;
    c = (struct mt_cursor){colon + 1, line + n_bytes};
    mt_cursor_blanks(&c);
    if (i == n || !mt_cursor_number(&c, 10, out) || *out > UINT64_MAX / of[i].factor)
        return NULL;
    *out *= of[i].factor;
    return &of[i];
}

void mt_status_line(const char *line, size_t n_bytes, struct mt_counters *out)
{
    uint64_t value;
    const struct mt_status_key *key =
        mt_status_value(line, n_bytes, keys, MT_COUNT_OF(keys), &value);

    if (!key)
        return;
    if (mt_status_knows(out, (enum mt_counter)key->id))
        value += out->value[key->id];
    mt_status_set(out, (enum mt_counter)key->id, value);
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
