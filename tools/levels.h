/* SPDX-License-Identifier: MIT */
/* SQL texts that more than one command asks: the levels of all types as of a sample, and the
 * regions alive in it. ?1 is the run, ?2 the sample. */
#ifndef MEMTRACER_TOOLS_LEVELS_H
#define MEMTRACER_TOOLS_LEVELS_H

/* One row a type, by one seek of the primary key; NULL where the run has none. */
#define SQL_LEVELS_AT                                                                              \
    "levels_at AS (SELECT t.id AS place, t.name AS type, l.size, l.committed, l.charged,"          \
    " l.private, l.ws, l.ws_private, l.ws_shareable, l.ws_shared, l.pss, l.swap, l.locked,"        \
    " l.huge, l.lazy_free, l.blocks, l.largest"                                                    \
    " FROM type t LEFT JOIN level l ON l.run = ?1 AND l.type = t.id AND l.sample ="                \
    " (SELECT max(k.sample) FROM level k WHERE k.run = ?1 AND k.type = t.id"                       \
    " AND k.sample <= ?2))"

#define SQL_REGIONS_AT                                                                             \
    "regions_at AS (SELECT * FROM region_row WHERE run = ?1 AND first_sample <= ?2"                \
    " AND (last_sample IS NULL OR last_sample >= ?2))"

#endif
