/* SPDX-License-Identifier: MIT */
/* A small recording in which every table has rows: the golden tests' fixture, in memory. */
#ifndef TEST_FUZZ_RECORDING_H
#define TEST_FUZZ_RECORDING_H

#include <sqlite3.h>

#include "workplace.h"
#include "memtracer/reader.h"

#define RECORDING_BYTES_MOST (1u << 20)

static uint8_t recording[RECORDING_BYTES_MOST];
static size_t recording_bytes;

static void recording_fill(sqlite3 *db)
{
    char *rows = malloc(RECORDING_BYTES_MOST);
    FILE *file = fopen(FIXTURE_SQL, "rb");
    size_t n;

    if (!rows || !file)
        abort();
    n = fread(rows, 1, RECORDING_BYTES_MOST - 1, file);
    rows[n] = '\0';
    fclose(file);
    if (sqlite3_exec(db, "PRAGMA page_size = 1024", NULL, NULL, NULL) ||
        sqlite3_exec(db, tracer_schema_sql(), NULL, NULL, NULL) ||
        sqlite3_exec(db, rows, NULL, NULL, NULL)) {
        fprintf(stderr, "%s\n", sqlite3_errmsg(db));
        abort();
    }
    free(rows);
}

/* Once: makes `recording`. */
static void recording_make(void)
{
    sqlite3 *db;
    FILE *file;

    if (recording_bytes)
        return;
    unlink("make.db");
    if (sqlite3_open("make.db", &db))
        abort();
    recording_fill(db);
    sqlite3_close(db);
    file = fopen("make.db", "rb");
    if (!file)
        abort();
    recording_bytes = fread(recording, 1, sizeof(recording), file);
    fclose(file);
    unlink("make.db");
}

#endif
