/* SPDX-License-Identifier: MIT */
/* Numbers as people write and read them. Buffers are HUMAN_BYTES long. */
#ifndef MEMTRACER_TOOLS_HUMAN_H
#define MEMTRACER_TOOLS_HUMAN_H

#include <stdbool.h>
#include <stdint.h>

#define HUMAN_BYTES 48

/* "0", "512 B", "51.8 MiB", three digits; exact: the bytes as they are. */
void human_bytes(char *out, int64_t bytes, bool exact);

/* The same with a sign: "+51.8 MiB", "-4.00 KiB", "0". */
void human_change(char *out, int64_t bytes, bool exact);

/* Seconds with milliseconds: "12.500". */
void human_seconds(char *out, int64_t ns);

/* "1 h 02 min", "12.5 s", "80 ms", "14 us". */
void human_duration(char *out, int64_t ns);

/* "2026-11-29 12:00:00", UTC, as in the views of the file. */
void human_wall(char *out, int64_t wall_ns);

bool human_parse_bytes(const char *text, int64_t *out_bytes);

/* "12.5", "12.5s", "1m30s", "1h", "250ms" → ns. */
bool human_parse_seconds(const char *text, int64_t *out_ns);

/* "2026-11-29 12:00[:00[.5]]", also with T and Z, UTC → ns since 1970. */
bool human_parse_wall(const char *text, int64_t *out_ns);

#endif
