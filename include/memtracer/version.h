/* SPDX-License-Identifier: MIT */
#ifndef MEMTRACER_VERSION_H
#define MEMTRACER_VERSION_H

/* The one place where the version stands: meson.build reads it, a test compares it with the
 * symbol map and CHANGELOG.md. The schema number of the file counts on its own. */
#define TRACER_VERSION_MAJOR 0
#define TRACER_VERSION_MINOR 1
#define TRACER_VERSION_PATCH 0
#define TRACER_VERSION_STRING "0.1.0"

/* major * 65536 + minor * 256 + patch */
#define TRACER_VERSION 0x000100

/* `PRAGMA user_version` of the files this version writes, and the newest it reads. */
#define TRACER_SCHEMA_VERSION 1

/* `PRAGMA application_id` of every memtracer file: "mtrc" in ASCII. */
#define TRACER_APPLICATION_ID 0x6d747263

#endif
