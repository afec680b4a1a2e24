/* SPDX-License-Identifier: MIT */
/* tools: numbers ↔ the text people read and write.
 * In: bytes, nanoseconds. Out: short text, and back. Called by the commands and out_table.c.
 * Knows no locale: a file read elsewhere shows the same figures, and times are UTC. */
#include "human.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS 1000000000LL

void human_bytes(char *out, int64_t bytes, bool exact)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = bytes < 0 ? -(double)bytes : (double)bytes;
    const char *sign = bytes < 0 ? "-" : "";
    int unit = 0;

    if (exact || bytes == 0) {
        snprintf(out, HUMAN_BYTES, "%" PRId64, bytes);
        return;
    }
    for (; value >= 1023.5 && unit < 6; unit++)
        value /= 1024;
    if (unit == 0)
        snprintf(out, HUMAN_BYTES, "%s%.0f B", sign, value);
    else
        snprintf(out, HUMAN_BYTES, "%s%.*f %s", sign,
                 value < 9.995   ? 2
                 : value < 99.95 ? 1
                                 : 0,
                 value, units[unit]);
}

void human_change(char *out, int64_t bytes, bool exact)
{
    *out = '+';
    human_bytes(bytes > 0 ? out + 1 : out, bytes, exact);
}

void human_seconds(char *out, int64_t ns)
{
    snprintf(out, HUMAN_BYTES, "%.3f", (double)ns / 1e9);
}

void human_duration(char *out, int64_t ns)
{
    double s = (double)ns / 1e9;
    int64_t minutes = ns / (60 * NS);

    if (minutes >= 60)
        snprintf(out, HUMAN_BYTES, "%" PRId64 " h %02" PRId64 " min", minutes / 60, minutes % 60);
    else if (minutes >= 1)
        snprintf(out, HUMAN_BYTES, "%" PRId64 " min %02.0f s", minutes, s - 60.0 * (double)minutes);
    else if (s >= 1)
        snprintf(out, HUMAN_BYTES, "%.1f s", s);
    else if (ns >= 1000000)
        snprintf(out, HUMAN_BYTES, "%.1f ms", s * 1e3);
    else
        snprintf(out, HUMAN_BYTES, "%.1f us", s * 1e6);
}

/* Days since 1970 ↔ year, month, day of the proleptic Gregorian calendar; years begin in March
 * so that the leap day is the last. */
static int64_t days_from_date(int64_t y, int64_t m, int64_t d)
{
    y -= m <= 2;
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1 -
           719468;
}

static void date_from_days(int64_t days, int64_t *y, int64_t *m, int64_t *d)
{
    int64_t z = days + 719468;
    int64_t of_era = z % 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153;

    *d = of_year - (153 * month + 2) / 5 + 1;
    *m = month + (month < 10 ? 3 : -9);
    *y = z / 146097 * 400 + year + (*m <= 2);
}

void human_wall(char *out, int64_t wall_ns)
{
    int64_t s = wall_ns < 0 ? 0 : wall_ns / NS; /* before 1970 no clock was set */
    int64_t y, m, d;

    date_from_days(s / 86400, &y, &m, &d);
    s %= 86400;
    snprintf(out, HUMAN_BYTES,
             "%04" PRId64 "-%02" PRId64 "-%02" PRId64 " %02" PRId64 ":%02" PRId64 ":%02" PRId64, y,
             m, d, s / 3600, s / 60 % 60, s % 60);
}

/* A decimal number without sign, exponent, "inf" or "0x", which strtod would take. */
static bool take_decimal(const char **text, double *out)
{
    const char *p = *text;
    size_t n = strspn(p, "0123456789.");
    char *end;

    if (n == 0 || n > 20)
        return false;
    *out = strtod(p, &end);
    *text = end;
    return end == p + n;
}

bool human_parse_bytes(const char *text, int64_t *out_bytes)
{
    static const char letters[] = "KMGT";
    const char *letter;
    double value;

    if (!take_decimal(&text, &value))
        return false;
    letter = *text ? strchr(letters, toupper((unsigned char)*text)) : NULL;
    for (const char *p = letters; letter && p <= letter; p++)
        value *= 1024;
    text += letter ? 1 : 0;
    if (letter && (!strcmp(text, "iB") || !strcmp(text, "B")))
        text = "";
    *out_bytes = value < 9e18 ? (int64_t)value : INT64_MAX;
    return !*text;
}

bool human_parse_seconds(const char *text, int64_t *out_ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ms", 1e6}, {"h", 3600e9}, {"m", 60e9}, {"s", 1e9}};
    double value, total = 0;
    size_t u;

    do {
        if (!take_decimal(&text, &value))
            return false;
        for (u = 0; u < 4 && strncmp(text, units[u].name, strlen(units[u].name)) != 0; u++)
            ;
        if (u == 4 && *text)
            return false;
        total += value * (u < 4 ? units[u].ns : 1e9);
        text += u < 4 ? strlen(units[u].name) : 0;
    } while (*text);
    if (total >= 9e18)
        return false;
    *out_ns = (int64_t)(total + 0.5);
    return true;
}

static bool in_range(int value, int least, int most)
{
    return value >= least && value <= most;
}

/* Seconds are what follows the minutes: "", ":59", ":59.5", each perhaps with a Z. */
static bool take_wall_seconds(const char *text, double *out_s)
{
    *out_s = 0;
    if (*text == ':' && (text++, !take_decimal(&text, out_s)))
        return false;
    return *out_s < 61 && (!*text || !strcmp(text, "Z"));
}

bool human_parse_wall(const char *text, int64_t *out_ns)
{
    int y, month, d, h, min, n = 0;
    double s;
    char t;

    if (sscanf(text, "%4d-%2d-%2d%c%2d:%2d%n", &y, &month, &d, &t, &h, &min, &n) != 6 ||
        (t != ' ' && t != 'T') || !take_wall_seconds(text + n, &s))
        return false;
    if (y < 1970 || !in_range(month, 1, 12) || !in_range(d, 1, 31) || !in_range(h, 0, 23) ||
        !in_range(min, 0, 59))
        return false;
    *out_ns =
        (days_from_date(y, month, d) * 86400 + h * 3600 + min * 60) * NS + (int64_t)(s * 1e9 + 0.5);
    return true;
}
