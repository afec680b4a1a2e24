-- memtracer file, schema 1: the views. They answer the questions; plain sqlite3 3.37 or newer
-- runs them. Conventions of tables.sql hold; in addition t_s is seconds since the run's start,
-- `time` is UTC text, addresses are hexadecimal text, `type` is a type's name, and
-- held = resident + swapped (ws + swap), or committed where resident bytes are unknown.

-- latest: the newest run that has a sample, and its newest sample. One row.
--   SELECT * FROM latest;
CREATE VIEW latest AS
SELECT s.run, s.id AS sample, s.t_ns / 1e9 AS t_s,
       strftime('%Y-%m-%d %H:%M:%f', s.wall_ns / 1e9, 'unixepoch') AS time
FROM sample s
WHERE s.id = (SELECT max(id) FROM sample);

-- level_now: the newest level of each type in the latest run.
--   SELECT type, ws FROM level_now;
CREATE VIEW level_now AS
SELECT t.id AS type_id, t.name AS type, l.*
FROM latest n
CROSS JOIN type t -- CROSS: in this order, else all levels of the run are read
CROSS JOIN level l ON l.run = n.run AND l.type = t.id
            AND l.sample = (SELECT max(k.sample) FROM level k
                            WHERE k.run = n.run AND k.type = t.id);

-- memory: the absolute values in time; each row holds from t_s until until_s.
--   SELECT t_s, ws FROM memory WHERE type = 'heap' ORDER BY run, t_s;
CREATE VIEW memory AS
SELECT l.run, l.sample, s.t_ns / 1e9 AS t_s,
       strftime('%Y-%m-%d %H:%M:%f', s.wall_ns / 1e9, 'unixepoch') AS time,
       t.name AS type,
       l.size, l.committed, l.charged, l.private, l.ws, l.ws_private, l.ws_shareable,
       l.ws_shared, l.pss, l.swap, l.locked, l.huge, l.lazy_free, l.blocks, l.largest,
       coalesce((SELECT n.t_ns FROM sample n WHERE n.id =
                    (SELECT k.sample FROM level k WHERE k.run = l.run AND k.type = l.type
                     AND k.sample > l.sample ORDER BY k.sample LIMIT 1)),
                (SELECT e.until_ns FROM sample e WHERE e.run = l.run
                 ORDER BY e.t_ns DESC LIMIT 1)) / 1e9 AS until_s
FROM level l
JOIN sample s ON s.id = l.sample
JOIN type t ON t.id = l.type;

-- delta: what changed, type by type. The first sample of a run is the delta from zero, so the
-- sum of a column up to a sample is its absolute value there (unknown counted as nothing).
-- NULL where the value was and is unknown.
--   SELECT t_s, ws FROM delta WHERE type = 'heap' AND ws > 1048576;
CREATE VIEW delta AS
SELECT l.run, l.sample, s.t_ns / 1e9 AS t_s,
       strftime('%Y-%m-%d %H:%M:%f', s.wall_ns / 1e9, 'unixepoch') AS time,
       t.name AS type,
       iif(coalesce(l.size, p.size) IS NULL, NULL,
           ifnull(l.size, 0) - ifnull(p.size, 0)) AS size,
       iif(coalesce(l.committed, p.committed) IS NULL, NULL,
           ifnull(l.committed, 0) - ifnull(p.committed, 0)) AS committed,
       iif(coalesce(l.charged, p.charged) IS NULL, NULL,
           ifnull(l.charged, 0) - ifnull(p.charged, 0)) AS charged,
       iif(coalesce(l.private, p.private) IS NULL, NULL,
           ifnull(l.private, 0) - ifnull(p.private, 0)) AS private,
       iif(coalesce(l.ws, p.ws) IS NULL, NULL,
           ifnull(l.ws, 0) - ifnull(p.ws, 0)) AS ws,
       iif(coalesce(l.ws_private, p.ws_private) IS NULL, NULL,
           ifnull(l.ws_private, 0) - ifnull(p.ws_private, 0)) AS ws_private,
       iif(coalesce(l.ws_shareable, p.ws_shareable) IS NULL, NULL,
           ifnull(l.ws_shareable, 0) - ifnull(p.ws_shareable, 0)) AS ws_shareable,
       iif(coalesce(l.ws_shared, p.ws_shared) IS NULL, NULL,
           ifnull(l.ws_shared, 0) - ifnull(p.ws_shared, 0)) AS ws_shared,
       iif(coalesce(l.pss, p.pss) IS NULL, NULL,
           ifnull(l.pss, 0) - ifnull(p.pss, 0)) AS pss,
       iif(coalesce(l.swap, p.swap) IS NULL, NULL,
           ifnull(l.swap, 0) - ifnull(p.swap, 0)) AS swap,
       iif(coalesce(l.locked, p.locked) IS NULL, NULL,
           ifnull(l.locked, 0) - ifnull(p.locked, 0)) AS locked,
       iif(coalesce(l.huge, p.huge) IS NULL, NULL,
           ifnull(l.huge, 0) - ifnull(p.huge, 0)) AS huge,
       iif(coalesce(l.lazy_free, p.lazy_free) IS NULL, NULL,
           ifnull(l.lazy_free, 0) - ifnull(p.lazy_free, 0)) AS lazy_free,
       iif(coalesce(l.blocks, p.blocks) IS NULL, NULL,
           ifnull(l.blocks, 0) - ifnull(p.blocks, 0)) AS blocks,
       iif(coalesce(l.largest, p.largest) IS NULL, NULL,
           ifnull(l.largest, 0) - ifnull(p.largest, 0)) AS largest
FROM level l
JOIN sample s ON s.id = l.sample
JOIN type t ON t.id = l.type
LEFT JOIN level p ON p.run = l.run AND p.type = l.type
     AND p.sample = (SELECT k.sample FROM level k WHERE k.run = l.run AND k.type = l.type
                     AND k.sample < l.sample ORDER BY k.sample DESC LIMIT 1);

-- vmmap: the table of memory types by memory states at the latest sample. Types in fixed order,
-- then a row `total` without free address space (largest: the longest of all).
--   SELECT type, size, committed, ws FROM vmmap;
CREATE VIEW vmmap AS
SELECT type, size, committed, charged, private, ws, ws_private, ws_shareable, ws_shared, pss,
       swap, locked, huge, lazy_free, blocks, largest
FROM (SELECT t.id AS place, t.name AS type, l.size, l.committed, l.charged, l.private, l.ws,
             l.ws_private, l.ws_shareable, l.ws_shared, l.pss, l.swap, l.locked, l.huge,
             l.lazy_free, l.blocks, l.largest
      FROM type t LEFT JOIN level_now l ON l.type_id = t.id
      WHERE EXISTS (SELECT 1 FROM sample)
      UNION ALL
      SELECT 1000, 'total', sum(size), sum(committed), sum(charged), sum(private), sum(ws),
             sum(ws_private), sum(ws_shareable), sum(ws_shared), sum(pss), sum(swap),
             sum(locked), sum(huge), sum(lazy_free), sum(blocks), max(largest)
      FROM level_now WHERE type <> 'free' HAVING count(*) > 0)
ORDER BY place;

-- which_kind_grew: the latest run, per type: first and last value and the difference, most
-- growth first. For a part of the run: growth_between_marks.
--   SELECT type, grew, grew_committed FROM which_kind_grew LIMIT 3;
CREATE VIEW which_kind_grew AS
SELECT t.name AS type,
       coalesce(b.ws + ifnull(b.swap, 0), b.committed)
           - iif(b.ws IS NULL, a.committed, a.ws + ifnull(a.swap, 0)) AS grew,
       a.ws AS first_ws, b.ws AS last_ws, b.ws - a.ws AS grew_ws,
       a.committed AS first_committed, b.committed AS last_committed,
       b.committed - a.committed AS grew_committed,
       a.private AS first_private, b.private AS last_private,
       b.private - a.private AS grew_private,
       a.size AS first_size, b.size AS last_size, b.size - a.size AS grew_size,
       b.swap - a.swap AS grew_swap, b.blocks - a.blocks AS grew_blocks
FROM latest n
CROSS JOIN type t
CROSS JOIN level a ON a.run = n.run AND a.type = t.id
            AND a.sample = (SELECT min(k.sample) FROM level k
                            WHERE k.run = n.run AND k.type = t.id)
CROSS JOIN level b ON b.run = n.run AND b.type = t.id
            AND b.sample = (SELECT max(k.sample) FROM level k
                            WHERE k.run = n.run AND k.type = t.id)
WHERE t.name <> 'free'
ORDER BY grew DESC, t.id;

-- mark_sample: for each mark the newest sample at or before it, and the first one after.
--   SELECT * FROM mark_sample;
CREATE VIEW mark_sample AS
SELECT m.id AS mark, m.run, m.label, m.t_ns,
       (SELECT s.id FROM sample s WHERE s.run = m.run AND s.t_ns <= m.t_ns
        ORDER BY s.t_ns DESC LIMIT 1) AS before,
       (SELECT s.id FROM sample s WHERE s.run = m.run AND s.t_ns > m.t_ns
        ORDER BY s.t_ns LIMIT 1) AS after
FROM mark m;

-- growth_between_marks: what each type grew from one mark to a later one of the same run. It
-- starts from the newest sample before from_mark. It ends with the newest sample before to_mark;
-- or, when nothing was looked at in the second half of the time between them, with the first
-- sample after to_mark. Marks of one label: each pair has rows, see from_id and to_id.
--   SELECT type, grew FROM growth_between_marks
--   WHERE from_mark = 'start' AND to_mark = 'loaded' ORDER BY grew DESC;
CREATE VIEW growth_between_marks AS
SELECT p.from_mark, p.to_mark, t.name AS type,
       coalesce(b.ws + ifnull(b.swap, 0), b.committed)
           - iif(b.ws IS NULL, a.committed, a.ws + ifnull(a.swap, 0)) AS grew,
       b.ws - a.ws AS grew_ws, b.committed - a.committed AS grew_committed,
       b.private - a.private AS grew_private, b.size - a.size AS grew_size,
       b.swap - a.swap AS grew_swap, b.blocks - a.blocks AS grew_blocks,
       p.run, p.from_id, p.to_id, p.from_t_s, p.to_t_s, p.from_sample, p.to_sample
FROM (SELECT x.run, x.label AS from_mark, y.label AS to_mark, x.mark AS from_id,
             y.mark AS to_id, x.t_ns / 1e9 AS from_t_s, y.t_ns / 1e9 AS to_t_s,
             coalesce(x.before, x.after) AS from_sample,
             iif(y.after IS NULL
                     OR (SELECT s.until_ns FROM sample s WHERE s.id = y.before)
                        >= (x.t_ns + y.t_ns) / 2,
                 y.before, y.after) AS to_sample
      FROM mark_sample x JOIN mark_sample y ON y.run = x.run AND y.mark > x.mark) p
CROSS JOIN type t
CROSS JOIN level a ON a.run = p.run AND a.type = t.id
            AND a.sample = (SELECT max(k.sample) FROM level k WHERE k.run = p.run
                            AND k.type = t.id AND k.sample <= p.from_sample)
CROSS JOIN level b ON b.run = p.run AND b.type = t.id
            AND b.sample = (SELECT max(k.sample) FROM level k WHERE k.run = p.run
                            AND k.type = t.id AND k.sample <= p.to_sample)
WHERE t.name <> 'free';

-- series: each type of each run but free address space and the tracer's own, with what `held` is
-- made of and how its samples are cut into blocks: at most 1024, one sample each as long as that
-- suffices. What a run that has ended gave back in its last 1/32 (or its last sample), when more
-- than half of the type went, is the end of the program and not in it.
--   SELECT * FROM series;
CREATE VIEW series AS
WITH
x AS MATERIALIZED (
    SELECT r.id AS run, t.id AS type_id, t.name AS type, r.stop_wall_ns,
           (SELECT s.id FROM sample s WHERE s.run = r.id ORDER BY s.t_ns, s.id LIMIT 1)
               AS first_sample,
           (SELECT s.id FROM sample s WHERE s.run = r.id ORDER BY s.t_ns DESC, s.id DESC LIMIT 1)
               AS end_sample,
           EXISTS (SELECT 1 FROM level l WHERE l.run = r.id AND l.type = t.id
                   AND l.ws IS NOT NULL) AS has_ws
    FROM run r JOIN type t
    WHERE t.name NOT IN ('free', 'tracer')
      AND EXISTS (SELECT 1 FROM level l WHERE l.run = r.id AND l.type = t.id)),
y AS MATERIALIZED (
    SELECT x.*, (SELECT s.id FROM sample s
                 WHERE s.run = x.run AND x.stop_wall_ns IS NOT NULL AND +s.id < x.end_sample
                   AND s.t_ns < (SELECT e.until_ns FROM sample e WHERE e.id = x.end_sample) / 32 * 31
                 ORDER BY s.t_ns DESC, s.id DESC LIMIT 1) AS tail_sample
    FROM x),
z AS MATERIALIZED (
    SELECT y.*, (SELECT iif(y.has_ws, l.ws + ifnull(l.swap, 0), l.committed) FROM level l
                 WHERE l.run = y.run AND l.type = y.type_id AND l.sample <= y.tail_sample
                 ORDER BY l.sample DESC LIMIT 1) AS tail_held
    FROM y),
w AS MATERIALIZED (
    SELECT run, type_id, type, first_sample, ifnull(
               (SELECT s.id FROM sample s
                WHERE +s.run = z.run AND s.id < (
                    SELECT min(l.sample) FROM level l
                    WHERE l.run = z.run AND l.type = z.type_id AND l.sample > z.tail_sample
                      AND iif(z.has_ws, l.ws + ifnull(l.swap, 0), l.committed) < tail_held / 2)
                ORDER BY s.id DESC LIMIT 1), end_sample) AS last_sample, has_ws
    FROM z)
SELECT *, (last_sample - first_sample) / 1024 + 1 AS per_block FROM w;

-- retained_floor: what was never given back later. held is the least value of a block of samples
-- (of a sample, in files of up to 1024), floor the least of it and all that follow: it cannot
-- fall, so peaks and waves vanish from it, and its rises are what was kept. tick: how many ticks
-- came before the block, of run_ticks; a quiet stretch is one sample of many ticks.
--   SELECT sample, floor FROM retained_floor WHERE type = 'heap' ORDER BY run, block;
CREATE VIEW retained_floor AS
WITH RECURSIVE
s AS MATERIALIZED (SELECT * FROM series),
n(block) AS (SELECT 0 UNION ALL SELECT block + 1 FROM n WHERE block < 1023),
u AS (SELECT DISTINCT run, first_sample, last_sample, per_block FROM s),
k AS MATERIALIZED (
    SELECT u.run, u.last_sample, n.block,
           (SELECT total(p.ticks) FROM sample p
            WHERE p.id >= u.first_sample + n.block * u.per_block
              AND p.id < u.first_sample + (n.block + 1) * u.per_block) AS ticks
    FROM u JOIN n ON u.first_sample + n.block * u.per_block <= u.last_sample),
c AS MATERIALIZED (
    SELECT run, last_sample, block, cast(ticks AS INTEGER) AS ticks,
           cast(sum(ticks) OVER (PARTITION BY run, last_sample ORDER BY block) - ticks AS INTEGER)
               AS tick,
           cast(sum(ticks) OVER (PARTITION BY run, last_sample) AS INTEGER) AS run_ticks
    FROM k),
b AS MATERIALIZED (
    SELECT s.run, s.type_id, s.type, n.block, s.first_sample + n.block * s.per_block AS sample,
           (SELECT min(iif(s.has_ws, l.ws + ifnull(l.swap, 0), l.committed)) FROM level l
            WHERE l.run = s.run AND l.type = s.type_id
              AND l.sample < s.first_sample + (n.block + 1) * s.per_block
              AND l.sample >= (SELECT max(k.sample) FROM level k
                               WHERE k.run = s.run AND k.type = s.type_id
                                 AND k.sample <= s.first_sample + n.block * s.per_block))
               AS held,
           s.per_block, s.last_sample
    FROM s JOIN n ON s.first_sample + n.block * s.per_block <= s.last_sample)
SELECT b.run, b.type_id, b.type, b.block, b.sample, b.sample + b.per_block AS end_sample, b.held,
       min(b.held) OVER (PARTITION BY b.run, b.type_id ORDER BY b.block DESC) AS floor,
       c.tick, c.ticks, c.run_ticks
FROM b JOIN c ON c.run = b.run AND c.last_sample = b.last_sample AND c.block = b.block;

-- floor_rise: where the retained floor rises, with rises that follow each other within 1/96 of
-- the run, or 2 ticks (4 without a rest between them, 8 after one mark; partial samples do not
-- count, up to 16), taken as one, for a large allocation is seen while it is being filled, or
-- counted (but rises on either side of an explicit sample and a mark stay apart).
-- `typical` is the size of the single rise of rank min_steps; what is far below it is noise, but
-- belongs to the rise it leads up to or ends. near: ticks (scaled to 1024 a run at most) whose held
-- is close to the floor; width: ticks this rise took; tick: how many came before it.
--   SELECT * FROM floor_rise WHERE type = 'heap';
CREATE VIEW floor_rise AS
WITH
f AS MATERIALIZED (
    SELECT *, lag(floor) OVER w AS before, count(*) OVER (PARTITION BY run, type_id) AS blocks
    FROM retained_floor
    WINDOW w AS (PARTITION BY run, type_id ORDER BY block)),
r AS MATERIALIZED (
    SELECT *, max(iif(rank = (SELECT value FROM setting WHERE name = 'min_steps'), rise, NULL))
                  OVER (PARTITION BY run, type_id) AS typical
    FROM (SELECT *, floor - before AS rise,
                 row_number() OVER (PARTITION BY run, type_id ORDER BY floor - before DESC) AS rank,
                 block - row_number() OVER (PARTITION BY run, type_id ORDER BY block) AS island
          FROM f WHERE floor > before)),
close AS (
    SELECT r.*, s.t_ns AS at_ns, s.flags, lag(s.t_ns) OVER w AS last_ns,
           r.tick - lag(r.tick) OVER w AS gap, lag(r.island) OVER w AS last_island,
           min(r.rise, lag(r.rise) OVER w) AS smaller
    FROM r JOIN sample s ON s.id = ( -- thinning may have left a later one; +: found by its key
        SELECT p.id FROM sample p WHERE +p.run = r.run AND p.id >= r.sample ORDER BY p.id LIMIT 1)
    WHERE r.rise >= max(r.typical, (SELECT value FROM setting WHERE name = 'min_step_bytes')) / 16
    WINDOW w AS (PARTITION BY r.run, r.type_id ORDER BY r.block)),
big AS (
    SELECT n.*,
           iif(gap <= max(iif(island = last_island, 4, 2),
                          iif((SELECT max(m.t_ns) FROM mark m WHERE m.run = n.run
                               AND m.t_ns <= at_ns) <= last_ns, 8, 2),
                          iif(gap <= 16 AND (SELECT ifnull(sum(p.ticks), 0) FROM sample p
                                             WHERE p.run = n.run AND p.t_ns >= last_ns
                                             AND p.t_ns < at_ns AND NOT p.flags & 16) <= 2, 16, 2),
                          run_ticks / 96)
                   AND NOT (smaller >= typical / 2
                            AND EXISTS (SELECT 1 FROM mark m JOIN sample q ON q.id = n.sample - 1
                                        WHERE m.run = n.run AND m.t_ns <= at_ns
                                          AND m.t_ns > q.t_ns AND (n.flags | q.flags) & 512)),
               0, 1) AS head
    FROM close n),
c AS (SELECT *, sum(head) OVER (PARTITION BY run, type_id ORDER BY block) AS chain FROM big),
g AS (SELECT run, type_id, type, chain, min(sample) AS sample, max(end_sample) AS end_sample,
             min(block) AS first, max(block) AS last, max(4, blocks / 64) AS reach, typical,
             max(tick) - min(tick) + 1 AS width, min(tick) AS tick, run_ticks, blocks
      FROM c GROUP BY run, type_id, chain),
ends AS (
    SELECT *, min(first - 1, max(first - 1 - reach, ifnull(lag(last) OVER w + reach, 0))) AS low,
           min(last + reach, ifnull(lead(first) OVER w, blocks) - 1) AS high
    FROM g WINDOW w AS (PARTITION BY run, type_id ORDER BY chain)),
lasting AS MATERIALIZED ( -- not joins: they would read all of f for each row
    SELECT ends.*,
           (SELECT floor FROM f WHERE f.run = ends.run AND f.type_id = ends.type_id
            AND f.block = ends.low) AS before,
           (SELECT floor FROM f WHERE f.run = ends.run AND f.type_id = ends.type_id
            AND f.block = ends.high) AS after,
           (SELECT sum(f.ticks) * min(1.0, 1024.0 / max(f.run_ticks)) FROM f
            WHERE f.run = ends.run AND f.type_id = ends.type_id
              AND f.held - f.floor <= ends.typical / 4) AS near
    FROM ends)
SELECT run, type_id, type, chain, sample, end_sample, before, after, after - before AS bytes, width,
       near, tick, run_ticks
FROM lasting;

-- floor_step: the rises that stand out, each at its exact sample (from there on held never falls
-- back by more than a quarter of the rise) with the newest mark at or before it. Left out are
-- start-up (a rise in the first 1/32 of the run or its first 3 ticks, before any mark) and
-- what is not confirmed yet (in the last 1/32 of the run). is_step: it has min_step_permille of
-- the rise of rank min_steps.
--   SELECT * FROM floor_step WHERE type = 'heap';
CREATE VIEW floor_step AS
WITH
e AS (SELECT r.*, s.first_sample, s.has_ws,
             (SELECT until_ns FROM sample WHERE id = s.last_sample) AS until_ns
      FROM floor_rise r JOIN series s ON s.run = r.run AND s.type_id = r.type_id
      WHERE r.bytes >= (SELECT value FROM setting WHERE name = 'min_step_bytes')),
x AS (SELECT e.*,
             (SELECT min(l.sample) FROM level l
              WHERE l.run = e.run AND l.type = e.type_id AND l.sample >
                  (SELECT k.sample FROM level k
                   WHERE k.run = e.run AND k.type = e.type_id AND k.sample < e.end_sample
                     AND iif(e.has_ws, k.ws + ifnull(k.swap, 0), k.committed)
                         < e.after - e.bytes / 4
                   ORDER BY k.sample DESC LIMIT 1)) AS at
      FROM e),
m AS (SELECT x.*, p.t_ns, p.wall_ns, p.flags,
             (SELECT k.id FROM mark k WHERE k.run = x.run AND k.t_ns <= p.t_ns
              ORDER BY k.t_ns DESC, k.id DESC LIMIT 1) AS mark
      FROM x JOIN sample p ON p.id = x.at),
k AS (
    SELECT m.*, row_number() OVER (PARTITION BY run, type_id ORDER BY bytes DESC) AS rank
    FROM m
    WHERE until_ns > t_ns AND (t_ns < until_ns / 32 * 31 OR flags & 512)
      AND (mark IS NOT NULL OR (t_ns > until_ns / 32 AND tick > 2))),
t AS (
    SELECT *, max(iif(rank = (SELECT value FROM setting WHERE name = 'min_steps'), bytes, NULL))
                  OVER (PARTITION BY run, type_id) AS typical
    FROM k)
SELECT run, type_id, type, at AS sample, t_ns, wall_ns, bytes, before, after, mark, until_ns, width,
       near, run_ticks, flags,
       bytes >= (SELECT value FROM setting WHERE name = 'min_step_permille') * typical / 1000
           AS is_step
FROM t WHERE typical IS NOT NULL;

-- floor_trend: does held rise on, seen from far? The run is cut into 12 stretches of as many ticks;
-- least is what is held at least in one; a short block that lies far below all others of its stretch
-- does not count, for it may be a torn read. The first does not count: start-up. order_permille is
-- Kendall's correlation of least with time, grew the growth of the floor that the rest of the run
-- confirms, grew_in the share of the run from the first rise on, fall the largest fall of least,
-- largest the largest rise. rising: at least 0.7 in
-- order, no fall of 2/5 of the growth, no stretch with 3/4 of it, and growth in the last third.
--   SELECT type, grew, rising FROM floor_trend;
CREATE VIEW floor_trend AS
WITH
f AS MATERIALIZED (SELECT * FROM retained_floor WHERE run_ticks >= 24 AND held IS NOT NULL),
n(stretch) AS (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11)),
j AS (SELECT f.*, n.stretch, row_number() OVER w AS rank, lead(f.held) OVER w AS second,
             lead(f.held, 2) OVER w AS third
      FROM f JOIN n ON n.stretch BETWEEN f.tick * 12 / f.run_ticks
                                 AND (f.tick + max(f.ticks, 1) - 1) * 12 / f.run_ticks
      WINDOW w AS (PARTITION BY f.run, f.type_id, n.stretch ORDER BY f.held)),
q AS MATERIALIZED (
    SELECT run, type_id, type, stretch,
           iif(ticks * 24 <= run_ticks AND second - held > 4 * (third - second), second, held)
               AS least
    FROM j WHERE rank = 1),
g AS (SELECT *, min(least) OVER (PARTITION BY run, type_id ORDER BY stretch DESC) AS floor,
             max(least) OVER (PARTITION BY run, type_id ORDER BY stretch) - least AS fall
      FROM q),
d AS (SELECT *, floor - lag(floor) OVER (PARTITION BY run, type_id ORDER BY stretch) AS rise,
             max(floor) OVER (PARTITION BY run, type_id)
                 - min(floor) OVER (PARTITION BY run, type_id) AS grew
      FROM g),
k AS (SELECT a.run, a.type_id, sum((b.least > a.least) - (b.least < a.least)) AS in_order
      FROM q a JOIN q b ON b.run = a.run AND b.type_id = a.type_id AND b.stretch > a.stretch
      GROUP BY a.run, a.type_id),
u AS (SELECT run, type_id, type, sum(rise > 0) AS rising_stretches, max(grew) AS grew,
             min(iif(rise * 64 > grew, stretch, NULL)) AS first,
             max(fall) AS fall, max(rise) AS largest,
             sum(iif(stretch >= 8, rise, 0)) AS late, sum(iif(stretch >= 9, rise, 0)) AS last
      FROM d GROUP BY run, type_id)
SELECT u.run, u.type_id, u.type, u.grew, (12 - u.first) / 12.0 AS grew_in, u.fall, u.largest,
       u.rising_stretches,
       k.in_order * 1000 / 55 AS order_permille,
       u.grew >= (SELECT value FROM setting WHERE name = 'min_growth_bytes')
           AND k.in_order * 1000 / 55 >= 700 AND u.fall * 5 <= u.grew * 2
           AND u.largest * 4 <= u.grew * 3 AND u.rising_stretches >= 2
           AND u.late * 100 >= u.grew * 6 AND u.last > 0 AS rising
FROM u JOIN k ON k.run = u.run AND k.type_id = u.type_id;

-- punctuated_growth: memory that grows in few, discrete, kept steps with little between them.
-- A step is a rise of the retained floor of at least min_step_bytes and min_step_permille of the
-- step of rank min_steps. A type of a run is reported when
-- - it has min_steps steps or more, and they make min_share_permille of what was retained;
-- - they are abrupt (all together take at most a quarter of the run, half where each has a mark
--   of its own) and the floor is seen at least 6 times a step, for a slope under noise comes in
--   as many rises as its floor is seen (twice where most steps have a mark of their own); or each
--   has a mark of its own and half of them were seen by explicit samples;
-- - floor_trend calls it rising, or no more than in order: it may rest at the end (a run too
--   short for floor_trend counts where each step has a mark of its own);
-- - it goes on: no plateau over the last plateau_permille of the run that is also twice the
--   longest wait between two steps - unless each step has a mark of its own, for then the steps
--   end with what causes them.
-- min_… and plateau_… are rows of table setting. mark is the newest mark at or before the step.
-- Where calls were recorded (TRACER_F_STACKS), site is the call site whose takings since the
-- step before, less what was given back by then, come closest to the step (more is likely a
-- reservation, less a part of it); site_percent is its share of the step.
--   SELECT * FROM punctuated_growth;
CREATE VIEW punctuated_growth AS
WITH
g AS (SELECT *, sum(bytes) OVER (PARTITION BY run, type_id) AS retained FROM floor_step),
gap AS (
    SELECT *, t_ns - lag(t_ns) OVER w AS wait, row_number() OVER w AS step,
           ifnull(mark <> lag(mark) OVER w, mark IS NOT NULL) AS by_mark
    FROM g WHERE is_step
    WINDOW w AS (PARTITION BY run, type_id ORDER BY sample)),
v AS (
    SELECT *, count(*) OVER t AS steps, sum(bytes) OVER t AS in_steps,
           max(until_ns) OVER t - max(t_ns) OVER t AS plateau_ns, max(wait) OVER t AS longest_wait,
           sum(width) OVER t AS widths, max(near) OVER t AS most_near,
           sum(by_mark) OVER t * 3 >= count(*) OVER t * 2 AS by_marks,
           min(by_mark) OVER t AS each_mark,
           sum(flags & 512 > 0) OVER t * 2 >= count(*) OVER t AS by_explicit
    FROM gap
    WINDOW t AS (PARTITION BY run, type_id)),
told AS MATERIALIZED (
    SELECT v.*
    FROM v LEFT JOIN floor_trend u ON u.run = v.run AND u.type_id = v.type_id
    WHERE v.steps >= (SELECT value FROM setting WHERE name = 'min_steps')
      AND ((v.widths * iif(v.each_mark, 2, 4) <= v.run_ticks
            AND v.most_near >= v.steps * iif(v.by_marks, 2, 6))
           OR (v.each_mark AND v.by_explicit))
      AND (u.rising OR (u.fall * 5 <= u.grew * 2
                        AND (v.each_mark OR u.largest * 4 <= u.grew * 3))
           OR (v.each_mark AND u.run IS NULL))
      AND (v.by_marks OR v.plateau_ns <= 2 * v.longest_wait
           OR v.plateau_ns * 1000.0 <= v.until_ns * 1.0
                  * (SELECT value FROM setting WHERE name = 'plateau_permille'))
      AND v.in_steps * 1000.0 >= v.retained * 1.0
              * (SELECT value FROM setting WHERE name = 'min_share_permille')),
-- the calls of each step's time, in order by address; what was not given back is the step's
l AS (
    SELECT g.run, g.type_id, g.step, g.bytes AS step_bytes, e.bytes, e.stack, e.takes,
           lead(e.takes) OVER (PARTITION BY g.run, g.type_id, g.step, e.address
                               ORDER BY e.t_ns, e.takes) AS next
    FROM told g
    JOIN call_edge e ON e.run = g.run AND e.t_ns > g.t_ns - ifnull(g.wait, g.t_ns + 1)
         AND e.began_ns > g.t_ns - ifnull(g.wait, g.t_ns + 1) AND e.began_ns <= g.t_ns),
site AS (
    SELECT l.run, l.type_id, l.step, c.frame, c.path, c.offset, sum(l.bytes) AS bytes,
           row_number() OVER (PARTITION BY l.run, l.type_id, l.step
                              ORDER BY abs(sum(l.bytes) - l.step_bytes), c.frame) AS place
    FROM l JOIN call_site c ON c.stack = l.stack
    WHERE l.takes AND l.next IS NULL GROUP BY l.run, l.type_id, l.step, c.frame)
SELECT g.run, g.type, g.step,
       strftime('%Y-%m-%d %H:%M:%f', g.wall_ns / 1e9, 'unixepoch') AS time,
       g.t_ns / 1e9 AS t_s, g.bytes, m.label AS mark, m.t_ns / 1e9 AS mark_t_s,
       g.sample, g.after AS held_after, x.path || printf('+0x%x', x.offset) AS site,
       round(min(100.0, 100.0 * x.bytes / g.bytes), 1) AS site_percent, x.frame AS site_frame
FROM told g
LEFT JOIN mark m ON m.id = g.mark
LEFT JOIN site x ON x.run = g.run AND x.type_id = g.type_id AND x.step = g.step AND x.place = 1
ORDER BY g.run, g.type_id, g.step;

-- leak_suspects: types whose retained floor goes on rising: in steps (punctuated_growth), or
-- 'steady' as floor_trend sees it. Growth below min_growth_bytes is no suspicion. bytes_per_hour is
-- meant from the first step, or rise, on.
--   SELECT type, shape, grew, bytes_per_hour FROM leak_suspects;
CREATE VIEW leak_suspects AS
WITH
p AS MATERIALIZED (
    SELECT run, type, count(*) AS steps, sum(bytes) AS bytes, min(t_s) AS since_s
    FROM punctuated_growth GROUP BY run, type)
SELECT u.run, u.type, iif(p.steps IS NULL, 'steady', 'steps') AS shape,
       coalesce(p.bytes, u.grew) AS grew, p.steps, p.since_s,
       (SELECT cast(iif(p.steps IS NULL, u.grew * 3600e9 / (u.grew_in * max(s.until_ns)),
                        p.bytes * 3600.0 / (max(s.until_ns) / 1e9 - p.since_s)) AS INTEGER)
        FROM sample s WHERE s.run = u.run) AS bytes_per_hour,
       u.rising_stretches
FROM floor_trend u LEFT JOIN p ON p.run = u.run AND p.type = u.type
WHERE p.steps IS NOT NULL OR u.rising
ORDER BY u.run DESC, grew DESC;

-- region_row: table region in words, for the views below. page_type: IMAGE (of a program or
-- library), MAPPED (of a file or shared memory), PRIVATE.
CREATE VIEW region_row AS
SELECT r.id, r.run, r.first_sample, r.last_sample, r.continues, r.base, r.bytes,
       printf('0x%012x', r.base) AS base_address,
       printf('0x%012x', r.base + r.bytes) AS end_address,
       t.id AS type_id, t.name AS type,
       iif(t.name = 'image', 'IMAGE', iif(r.flags & 3, 'MAPPED', 'PRIVATE')) AS page_type,
       iif((r.protection = 0 OR r.flags & 8) AND NOT r.flags & 256, 'RESERVE', 'COMMIT') AS alloc_type,
       r.protection AS rights, r.flags,
       CASE r.protection & 7
           WHEN 0 THEN 'NOACCESS' WHEN 1 THEN 'READONLY' WHEN 2 THEN 'WRITEONLY'
           WHEN 3 THEN 'READWRITE' WHEN 4 THEN 'EXECUTE' WHEN 5 THEN 'EXECUTE_READ'
           WHEN 6 THEN 'EXECUTE_WRITE' ELSE 'EXECUTE_READWRITE' END
           || iif(r.flags & 4, ' GUARD', '') AS protection,
       iif(r.protection & 1, 'R', '-') || iif(r.protection & 2, 'W', '-')
           || iif(r.protection & 4, 'X', '-') AS protection_mask,
       f.text AS file_name, iif(r.inode IS NULL, NULL, printf('%x', r.inode)) AS file_key,
       r.file, iif(r.flags & 2, r.offset, NULL) AS offset,
       o.text AS owner, r.thread, r.confidence, r.ws, r.swap
FROM region r
JOIN type t ON t.id = r.type
LEFT JOIN string f ON f.id = r.file
LEFT JOIN string o ON o.id = r.owner;

-- region_now: the regions alive at the end of the latest run, by address.
--   SELECT base_address, bytes, type, protection_mask, file_name FROM region_now;
CREATE VIEW region_now AS
SELECT base_address, end_address, bytes, type, page_type, alloc_type, protection,
       protection_mask, file_name, offset, owner, thread, confidence, ws, swap, flags, run, id
FROM region_row
WHERE run = (SELECT run FROM latest) AND last_sample IS NULL
ORDER BY base < 0, base;

-- memory_event: what happened to address space, as an event tracer tells it, in order of time.
-- kind: VirtualAlloc, VirtualFree (private memory), MapViewFile, UnmapViewFile (of files, images
-- and shared memory), Grow, Shrink, Protect (in place). at_start is 1 for what was there when
-- the run began. Seen by sampling: what came and went between two samples is not here, and the
-- time is that of the sample that noticed. region_size is the size after the event.
-- Of two samples, byte by byte: a byte stayed when both have it as the same thing (of a file, the
-- same place of it; of private memory, with the same type or as a region with the same borders).
-- A region of which no byte stayed is an alloc or a free. One with bytes that stayed, and others:
-- Grow; beyond whose border bytes of the region it was part of have gone: Shrink; with bytes that
-- stayed under other rights: Protect. Bytes that lost or got all rights count as gone or come where
-- the region has others. So cutting and joining regions is no event by itself.
-- source: 'diff' for those; 'exact' for calls recorded with TRACER_F_STACKS, whose kind is the
-- call's name, whose time is the call's, and whose stack is in table stack.
--   SELECT time, kind, base_address, region_size, file_name FROM memory_event
--   WHERE NOT at_start ORDER BY run, t_s;
CREATE VIEW memory_event AS
WITH
executable AS MATERIALIZED (SELECT DISTINCT run, file FROM region WHERE protection & 4),
n AS (SELECT id AS event_region, first_sample AS at,
             iif(page_type = 'PRIVATE', 'VirtualAlloc', 'MapViewFile') AS kind
      FROM region_row WHERE continues IS NULL
      UNION ALL
      SELECT r.id, (SELECT min(s.id) FROM sample s WHERE s.id > r.last_sample AND s.run = r.run),
             iif(r.page_type = 'PRIVATE', 'VirtualFree', 'UnmapViewFile')
      FROM region_row r
      WHERE r.last_sample IS NOT NULL AND NOT r.flags & 32768
        AND r.id NOT IN (SELECT continues FROM region WHERE continues IS NOT NULL)
      UNION ALL
      SELECT r.id, r.first_sample, 'Grow' FROM region r JOIN region p ON p.id = r.continues
      WHERE iif(r.flags & 2048, r.flags & 4096, r.bytes > p.bytes)
      UNION ALL
      SELECT r.id, r.first_sample, 'Shrink' FROM region r JOIN region p ON p.id = r.continues
      WHERE iif(r.flags & 2048, r.flags & 8192, r.bytes < p.bytes)
      UNION ALL
      SELECT r.id, r.first_sample, 'Protect' FROM region r JOIN region p ON p.id = r.continues
      WHERE iif(r.flags & 2048, r.flags & 16384, r.protection <> p.protection))
SELECT strftime('%Y-%m-%d %H:%M:%f', s.wall_ns / 1e9, 'unixepoch') AS time,
       s.t_ns / 1e9 AS t_s, n.kind, r.base_address, r.bytes AS region_size, r.alloc_type,
       r.page_type, r.protection, r.protection_mask, r.file_key, r.file_name, r.offset,
       iif(r.page_type = 'PRIVATE', NULL,
           iif(r.page_type = 'IMAGE',
               iif(r.file IS NOT NULL
                   AND (r.run, r.file) NOT IN (SELECT run, file FROM executable),
                   'IMAGE_NO_EXECUTE', 'IMAGE'),
               iif(r.flags & 64 OR r.type = 'device', 'PHYSICAL',
                   iif(r.type = 'shareable' OR NOT r.flags & 2, 'PAGEFILE', 'DATA'))))
           AS section_type,
       iif(r.page_type = 'PRIVATE', NULL,
           printf('0x%012x', iif(m.id IS NULL, r.base, m.base))) AS view_base,
       iif(r.page_type = 'PRIVATE', NULL, ifnull(m.bytes, r.bytes)) AS view_size,
       u.pid, u.name, u.exe, r.type, r.owner, r.thread,
       r.first_sample = (SELECT x.id FROM sample x WHERE x.run = r.run
                         ORDER BY x.t_ns, x.id LIMIT 1)
           AND n.at = r.first_sample AS at_start,
       r.run, n.at AS sample, r.id AS region, 'diff' AS source, NULL AS stack
FROM n
JOIN region_row r ON r.id = n.event_region
JOIN run u ON u.id = r.run
JOIN sample s ON s.id = n.at
LEFT JOIN module m ON m.id = (SELECT k.id FROM module k
                              WHERE k.run = r.run AND r.page_type = 'IMAGE'
                                AND r.base >= k.base AND r.base < k.base + k.bytes
                                AND k.first_sample <= n.at
                              ORDER BY k.id DESC LIMIT 1)
WHERE r.type <> 'unusable' OR r.flags & 4 -- what is lost between allocations is none
UNION ALL
SELECT strftime('%Y-%m-%d %H:%M:%f', (u.start_wall_ns + e.t_ns) / 1e9, 'unixepoch'),
       e.t_ns / 1e9, k.name, printf('0x%012x', e.address), e.bytes, NULL, NULL, NULL,
       iif(e.protection IS NULL, NULL, iif(e.protection & 1, 'R', '-')
           || iif(e.protection & 2, 'W', '-') || iif(e.protection & 4, 'X', '-')),
       NULL, NULL, NULL, NULL, NULL, NULL, u.pid, u.name, u.exe, NULL, NULL, e.tid, 0, e.run,
       (SELECT x.id FROM sample x WHERE x.run = e.run AND x.t_ns >= e.t_ns
        ORDER BY x.t_ns LIMIT 1), NULL, 'exact', e.stack
FROM event e JOIN event_kind k ON k.id = e.kind JOIN run u ON u.id = e.run
ORDER BY run, t_s, sample, base_address, region;

-- call_site: for each stack the innermost frame outside the C library, the C++ library and
-- allocators that are libraries: who asked for the memory. offset is a return address.
--   SELECT * FROM call_site;
CREATE VIEW call_site AS
WITH
library AS MATERIALIZED (
    SELECT c.id AS code, p.text AS path, c.build_id,
           p.text LIKE '%/libc.so%' OR p.text LIKE '%/libc-%' OR p.text LIKE '%/ld-%'
           OR p.text LIKE '%/libstdc++%' OR p.text LIKE '%/libc++%' OR p.text LIKE '%/libjemalloc%'
           OR p.text LIKE '%/libtcmalloc%' OR p.text LIKE '%/libmimalloc%' AS passed_over
    FROM code c JOIN string p ON p.id = c.path)
SELECT s.id AS stack, f.id AS frame, l.path, l.build_id, f.offset
FROM stack s
JOIN stack_frame x ON x.stack = s.id AND x.depth = ifnull(
     (SELECT min(y.depth) FROM stack_frame y JOIN frame g ON g.id = y.frame
      JOIN library m ON m.code = g.code WHERE y.stack = s.id AND NOT m.passed_over), 0)
JOIN frame f ON f.id = x.frame
JOIN library l ON l.code = f.code;

-- call_edge: what the calls took (takes = 1) and gave back (0), in order of t_ns by address;
-- memory may have been there from began_ns on. Calls
-- within calls are left out. bytes of what was given back: 0 = all that begins there.
--   SELECT * FROM call_edge ORDER BY run, t_ns, takes;
CREATE VIEW call_edge AS
SELECT e.run, ifnull(e.began_ns, e.t_ns) AS began_ns, e.t_ns, 1 AS takes,
       e.kind >= 16 AS is_heap, e.address, e.bytes, e.stack
FROM event e WHERE e.kind IN (1, 3, 6, 16, 17, 18, 19, 20, 21) AND e.bytes > 0 AND NOT e.flags & 1
UNION ALL
SELECT e.run, e.t_ns, e.t_ns, 0, e.kind >= 16, e.address, iif(e.kind >= 16, 0, e.bytes), NULL
FROM event e WHERE e.kind IN (2, 7, 22) AND NOT e.flags & 1
UNION ALL
SELECT e.run, e.t_ns, ifnull(e.began_ns, e.t_ns), 0, e.kind >= 16, e.old_address,
       iif(e.kind >= 16, 0, e.old_bytes), NULL
FROM event e WHERE e.kind IN (3, 18) AND e.old_bytes > 0 AND NOT e.flags & 1
UNION ALL
SELECT e.run, e.t_ns, e.t_ns, 1, 0, e.old_address, e.address - e.old_address, e.stack
FROM event e WHERE e.kind = 5 AND e.address > e.old_address AND NOT e.flags & 1
UNION ALL
SELECT e.run, e.t_ns, e.t_ns, 0, 0, e.address, e.old_address - e.address, NULL
FROM event e WHERE e.kind = 5 AND e.address < e.old_address AND NOT e.flags & 1;

-- The five tables of an address summary, of the latest sample. percent_of_busy leaves free
-- address space out; NULL for free itself. Page tables are no address space and not counted.

-- usage_summary: by memory type.
--   SELECT * FROM usage_summary;
CREATE VIEW usage_summary AS
SELECT type AS usage, blocks AS regions, size AS bytes,
       iif(type = 'free', NULL, round(100.0 * size
           / nullif(sum(iif(type = 'free', 0, size)) OVER (), 0), 2)) AS percent_of_busy,
       round(100.0 * size / nullif(sum(size) OVER (), 0), 2) AS percent_of_total
FROM level_now
WHERE size > 0 AND type <> 'page_table'
ORDER BY type <> 'free', size DESC;

-- type_summary: MEM_IMAGE, MEM_MAPPED (files, shared memory, devices), MEM_PRIVATE.
--   SELECT * FROM type_summary;
CREATE VIEW type_summary AS
SELECT type, regions, bytes,
       round(100.0 * bytes / nullif(sum(bytes) OVER (), 0), 2) AS percent_of_busy,
       round(100.0 * bytes / nullif((SELECT sum(bytes) FROM usage_summary), 0), 2)
           AS percent_of_total
FROM (SELECT CASE WHEN usage = 'image' THEN 'MEM_IMAGE'
                  WHEN usage IN ('mapped_file', 'shareable', 'device') THEN 'MEM_MAPPED'
                  ELSE 'MEM_PRIVATE' END AS type,
             sum(regions) AS regions, sum(bytes) AS bytes
      FROM usage_summary WHERE usage <> 'free' GROUP BY 1)
ORDER BY bytes DESC;

-- state_summary: MEM_COMMIT (accessible), MEM_RESERVE (mapped, not accessible), MEM_FREE.
-- regions: NULL when the list of regions was not recorded.
--   SELECT * FROM state_summary;
CREATE VIEW state_summary AS
SELECT state, regions, bytes,
       iif(state = 'MEM_FREE', NULL, round(100.0 * bytes
           / nullif(sum(iif(state = 'MEM_FREE', 0, bytes)) OVER (), 0), 2)) AS percent_of_busy,
       round(100.0 * bytes / nullif(sum(bytes) OVER (), 0), 2) AS percent_of_total
FROM (SELECT 'MEM_FREE' AS state, blocks AS regions, size AS bytes
      FROM level_now WHERE type = 'free'
      UNION ALL
      SELECT 'MEM_COMMIT', (SELECT nullif(sum(alloc_type = 'COMMIT'), 0) FROM region_now),
             sum(committed)
      FROM level_now WHERE type NOT IN ('free', 'page_table')
      UNION ALL
      SELECT 'MEM_RESERVE',
             iif(EXISTS (SELECT 1 FROM region_now),
                 (SELECT sum(alloc_type = 'RESERVE') FROM region_now), NULL),
             sum(size - ifnull(committed, 0))
      FROM level_now WHERE type NOT IN ('free', 'page_table'))
WHERE bytes IS NOT NULL;

-- protect_summary: by protection. Empty when the list of regions was not recorded.
--   SELECT * FROM protect_summary;
CREATE VIEW protect_summary AS
SELECT 'PAGE_' || replace(protection, ' GUARD', '|PAGE_GUARD') AS protect,
       count(*) AS regions, sum(bytes) AS bytes,
       round(100.0 * sum(bytes) / nullif(sum(sum(bytes)) OVER (), 0), 2) AS percent_of_busy,
       round(100.0 * sum(bytes) / nullif((SELECT sum(bytes) FROM usage_summary), 0), 2)
           AS percent_of_total
FROM region_now
GROUP BY protection
ORDER BY bytes DESC;

-- largest_region: the largest region of each type. Where the list of regions was not recorded,
-- and for free address space, the longest run, without its address.
--   SELECT * FROM largest_region;
CREATE VIEW largest_region AS
SELECT l.type AS usage, r.base_address, ifnull(r.bytes, l.largest) AS bytes, r.file_name,
       r.owner, 1 AS regions,
       iif(l.type = 'free', NULL, round(100.0 * ifnull(r.bytes, l.largest)
           / nullif((SELECT sum(bytes) FROM usage_summary WHERE usage <> 'free'), 0), 2))
           AS percent_of_busy,
       round(100.0 * ifnull(r.bytes, l.largest)
             / nullif((SELECT sum(bytes) FROM usage_summary), 0), 2) AS percent_of_total
FROM level_now l
LEFT JOIN (SELECT type, base_address, file_name, owner, max(bytes) AS bytes
           FROM region_now GROUP BY type) r ON r.type = l.type
WHERE l.size > 0 AND l.type <> 'page_table'
ORDER BY l.type <> 'free', bytes DESC;

-- image_private: programs and libraries, segment by segment: how much of what they have in memory
-- is this process's alone, and why: relocated + written + unknown = private. Segments by the
-- object's program headers; of segment data the pages that hold relocations and nothing else that
-- differs from the file are relocated, as of the last sample that was asked for (first, last,
-- tracer_sample). Empty when the list of regions was not recorded.
--   SELECT module, segment, private, relocated, written, why FROM image_private WHERE private > 0;
CREATE VIEW image_private AS
SELECT module, segment, bytes, ws, private, relocated, written,
       private - ifnull(relocated, 0) - ifnull(written, 0) AS unknown,
       CASE WHEN private = 0 THEN NULL
            WHEN segment = 'relro' AND NOT writable
                 THEN 'relocations: addresses filled in by the loader, then made read-only (RELRO)'
            WHEN segment = 'relro' OR relocated = private
                 THEN 'relocations: addresses filled in by the loader'
            WHEN segment = 'bss' THEN 'data without a file, written'
            WHEN segment = 'text' THEN 'text written: relocations in it, breakpoints, uprobes, patches'
            WHEN written > 0 AND relocated > 0 THEN 'data written, and relocations'
            WHEN written > 0 THEN 'data written'
            WHEN relocated > 0 THEN 'relocations, and unknown'
            WHEN segment = 'data'
                 THEN 'unknown: the file is gone or another one, or there was no time to read it'
            ELSE 'unknown' END AS why
FROM (SELECT module, segment, sum(bytes) AS bytes, sum(ws) AS ws, sum(private) AS private,
             sum(CASE segment WHEN 'relro' THEN private WHEN 'data' THEN relocated
                              WHEN 'rodata' THEN NULL ELSE 0 END) AS relocated,
             sum(CASE segment WHEN 'bss' THEN private WHEN 'text' THEN private
                              WHEN 'data' THEN written WHEN 'relro' THEN 0 END) AS written,
             max(writable) AS writable
      FROM (SELECT coalesce(o.text, f.text) AS module, r.bytes, r.ws, r.private, r.relocated,
                   r.written, (r.protection & 2) <> 0 AS writable,
                   CASE WHEN r.flags & 512 THEN 'relro' WHEN r.flags & 1024 THEN 'bss'
                        WHEN r.protection & 4 THEN 'text' WHEN r.protection & 2 THEN 'data'
                        ELSE 'rodata' END AS segment
            FROM region r
            LEFT JOIN string o ON o.id = r.owner
            LEFT JOIN string f ON f.id = r.file
            WHERE r.run = (SELECT run FROM latest) AND r.last_sample IS NULL
              AND r.type = (SELECT id FROM type WHERE name = 'image'))
      WHERE module IS NOT NULL
      GROUP BY module, segment)
ORDER BY private DESC, module, segment;

-- unloaded_module: libraries that are gone, with the addresses they had.
--   SELECT path FROM unloaded_module WHERE '0x7f0012345678' BETWEEN base_address AND end_address;
CREATE VIEW unloaded_module AS
SELECT printf('0x%012x', m.base) AS base_address,
       printf('0x%012x', m.base + m.bytes) AS end_address, m.bytes, p.text AS path, m.build_id,
       a.t_ns / 1e9 AS loaded_t_s, b.until_ns / 1e9 AS last_seen_t_s,
       strftime('%Y-%m-%d %H:%M:%f', a.wall_ns / 1e9, 'unixepoch') AS loaded,
       strftime('%Y-%m-%d %H:%M:%f', (b.wall_ns + b.until_ns - b.t_ns) / 1e9, 'unixepoch')
           AS last_seen, m.run, m.base, m.id AS module
FROM module m
JOIN string p ON p.id = m.path
LEFT JOIN sample a ON a.id = m.first_sample
LEFT JOIN sample b ON b.id = m.last_sample
WHERE m.last_sample IS NOT NULL
ORDER BY m.run, m.last_sample, m.base;

-- self_cost: what recording cost, run by run. own_bytes is the most address space that the tracer
-- had reserved, little of it touched; what of it is resident is type tracer in `memory`. Rounded in
-- integers, for versions of SQLite differ in what they make of a half.
--   SELECT ticks, cpu_percent, cpu_us_per_tick FROM self_cost;
CREATE VIEW self_cost AS
SELECT r.id AS run, r.label, r.state, count(s.id) AS samples, sum(s.ticks) AS ticks,
       sum(s.missed) AS missed, max(s.until_ns) / 1e9 AS seconds,
       sum(s.cost_wall_ns) / 1e9 AS wall_s, sum(s.cost_cpu_ns) / 1e9 AS cpu_s,
       (sum(s.cost_wall_ns) / 50 + sum(s.ticks)) / nullif(2 * sum(s.ticks), 0) / 10.0
           AS wall_us_per_tick,
       (sum(s.cost_cpu_ns) / 50 + sum(s.ticks)) / nullif(2 * sum(s.ticks), 0) / 10.0
           AS cpu_us_per_tick,
       round(100.0 * sum(s.cost_cpu_ns) / nullif(max(s.until_ns), 0), 3) AS cpu_percent,
       max(s.own_bytes) AS own_bytes,
       (200 * sum(s.depth) + count(s.id)) / nullif(2 * count(s.id), 0) / 100.0 AS mean_depth, sum(s.flags & ~1024 <> 0) AS flagged_samples
FROM run r LEFT JOIN sample s ON s.run = r.id
GROUP BY r.id;

-- thread_stack: the threads alive at the end of the latest run and their stacks. committed and
-- resident are NULL when the list of regions was not recorded.
--   SELECT * FROM thread_stack ORDER BY resident DESC;
CREATE VIEW thread_stack AS
SELECT h.tid, n.text AS name, h.stack_bytes AS stack_size, h.guard_bytes,
       (SELECT sum(r.bytes) FROM region_now r
        WHERE r.thread = h.tid AND r.type = 'stack' AND r.alloc_type = 'COMMIT'
          AND NOT r.flags & 4) AS committed,
       (SELECT sum(r.ws) FROM region_now r
        WHERE r.thread = h.tid AND r.type = 'stack') AS resident,
       printf('0x%012x', h.stack_base) AS base_address,
       s.t_ns / 1e9 AS first_seen_t_s
FROM thread h
LEFT JOIN string n ON n.id = h.name
LEFT JOIN sample s ON s.id = h.first_sample
WHERE h.run = (SELECT run FROM latest) AND h.last_sample IS NULL
ORDER BY h.tid;
