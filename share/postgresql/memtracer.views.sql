-- The views of a memtracer file for PostgreSQL 12 or newer, over the tables as memtracer.load brings
-- them. Names, columns and answers are those of the file's own views, which memtracer(7) describes;
-- left out are delta, self_cost and the ones of an address space, of threads, modules and calls. Any
-- number of runs.
SET client_min_messages = warning;
ANALYZE; -- a load leaves none, and without it plans are made in the dark
BEGIN;

DROP VIEW IF EXISTS release_leaks, leak_suspects, punctuated_growth, floor_trend, floor_step,
    floor_rise, retained_floor, series, growth_between_marks, mark_sample, which_kind_grew, vmmap,
    level_now, memory, latest;

CREATE VIEW latest AS
SELECT s.run, s.id AS sample, s.t_ns / 1e9::float8 AS t_s,
       to_char(to_timestamp(round(s.wall_ns / 1e6) / 1e3) AT TIME ZONE 'UTC',
               'YYYY-MM-DD HH24:MI:SS.MS') AS time
FROM sample s
WHERE s.id = (SELECT max(id) FROM sample);

CREATE VIEW memory AS
SELECT l.run, l.sample, s.t_ns / 1e9::float8 AS t_s,
       to_char(to_timestamp(round(s.wall_ns / 1e6) / 1e3) AT TIME ZONE 'UTC',
               'YYYY-MM-DD HH24:MI:SS.MS') AS time,
       t.name AS type, l.size, l.committed, l.charged, l.private, l.ws, l.ws_private,
       l.ws_shareable, l.ws_shared, l.pss, l.swap, l.locked, l.huge, l.lazy_free, l.blocks,
       l.largest,
       coalesce((SELECT n.t_ns FROM sample n WHERE n.id =
                    (SELECT k.sample FROM level k WHERE k.run = l.run AND k.type = l.type
                     AND k.sample > l.sample ORDER BY k.sample LIMIT 1)),
                (SELECT e.until_ns FROM sample e WHERE e.run = l.run
                 ORDER BY e.t_ns DESC LIMIT 1)) / 1e9::float8 AS until_s
FROM level l
JOIN sample s ON s.id = l.sample
JOIN type t ON t.id = l.type;

CREATE VIEW level_now AS
SELECT t.id AS type_id, t.name AS type, l.run, l.sample, l.size, l.committed, l.charged, l.private,
       l.ws, l.ws_private, l.ws_shareable, l.ws_shared, l.pss, l.swap, l.locked, l.huge,
       l.lazy_free, l.blocks, l.largest
FROM latest n
CROSS JOIN type t
JOIN LATERAL (SELECT * FROM level k WHERE k.run = n.run AND k.type = t.id
              ORDER BY k.sample DESC LIMIT 1) l ON true;

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
      FROM level_now WHERE type <> 'free' HAVING count(*) > 0) x
ORDER BY place;

CREATE VIEW which_kind_grew AS
SELECT t.name AS type,
       coalesce(b.ws + coalesce(b.swap, 0), b.committed)
           - CASE WHEN b.ws IS NULL THEN a.committed ELSE a.ws + coalesce(a.swap, 0) END AS grew,
       a.ws AS first_ws, b.ws AS last_ws, b.ws - a.ws AS grew_ws,
       a.committed AS first_committed, b.committed AS last_committed,
       b.committed - a.committed AS grew_committed,
       a.private AS first_private, b.private AS last_private,
       b.private - a.private AS grew_private,
       a.size AS first_size, b.size AS last_size, b.size - a.size AS grew_size,
       b.swap - a.swap AS grew_swap, b.blocks - a.blocks AS grew_blocks
FROM latest n
CROSS JOIN type t
JOIN LATERAL (SELECT * FROM level k WHERE k.run = n.run AND k.type = t.id
              ORDER BY k.sample LIMIT 1) a ON true
JOIN LATERAL (SELECT * FROM level k WHERE k.run = n.run AND k.type = t.id
              ORDER BY k.sample DESC LIMIT 1) b ON true
WHERE t.name <> 'free'
ORDER BY grew DESC NULLS LAST, t.id;

CREATE VIEW mark_sample AS
SELECT m.id AS mark, m.run, m.label, m.t_ns,
       (SELECT s.id FROM sample s WHERE s.run = m.run AND s.t_ns <= m.t_ns
        ORDER BY s.t_ns DESC LIMIT 1) AS before,
       (SELECT s.id FROM sample s WHERE s.run = m.run AND s.t_ns > m.t_ns
        ORDER BY s.t_ns LIMIT 1) AS after
FROM mark m;

CREATE VIEW growth_between_marks AS
WITH m AS MATERIALIZED (SELECT * FROM mark_sample)
SELECT p.from_mark, p.to_mark, t.name AS type,
       coalesce(b.ws + coalesce(b.swap, 0), b.committed)
           - CASE WHEN b.ws IS NULL THEN a.committed ELSE a.ws + coalesce(a.swap, 0) END AS grew,
       b.ws - a.ws AS grew_ws, b.committed - a.committed AS grew_committed,
       b.private - a.private AS grew_private, b.size - a.size AS grew_size,
       b.swap - a.swap AS grew_swap, b.blocks - a.blocks AS grew_blocks,
       p.run, p.from_id, p.to_id, p.from_t_s, p.to_t_s, p.from_sample, p.to_sample
FROM (SELECT x.run, x.label AS from_mark, y.label AS to_mark, x.mark AS from_id, y.mark AS to_id,
             x.t_ns / 1e9::float8 AS from_t_s, y.t_ns / 1e9::float8 AS to_t_s,
             coalesce(x.before, x.after) AS from_sample,
             CASE WHEN y.after IS NULL
                       OR (SELECT s.until_ns FROM sample s WHERE s.id = y.before)
                          >= (x.t_ns + y.t_ns) / 2
                  THEN y.before ELSE y.after END AS to_sample
      FROM m x JOIN m y ON y.run = x.run AND y.mark > x.mark) p
CROSS JOIN type t
JOIN LATERAL (SELECT * FROM level k WHERE k.run = p.run AND k.type = t.id
              AND k.sample <= p.from_sample ORDER BY k.sample DESC LIMIT 1) a ON true
JOIN LATERAL (SELECT * FROM level k WHERE k.run = p.run AND k.type = t.id
              AND k.sample <= p.to_sample ORDER BY k.sample DESC LIMIT 1) b ON true
WHERE t.name <> 'free';

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
    FROM run r CROSS JOIN type t
    WHERE t.name NOT IN ('free', 'tracer')
      AND EXISTS (SELECT 1 FROM level l WHERE l.run = r.id AND l.type = t.id)),
y AS MATERIALIZED (
    SELECT x.*, (SELECT s.id FROM sample s
                 WHERE s.run = x.run AND x.stop_wall_ns IS NOT NULL AND s.id < x.end_sample
                   AND s.t_ns < (SELECT e.until_ns FROM sample e WHERE e.id = x.end_sample) / 32 * 31
                 ORDER BY s.t_ns DESC, s.id DESC LIMIT 1) AS tail_sample
    FROM x),
z AS MATERIALIZED (
    SELECT y.*, (SELECT CASE WHEN y.has_ws THEN l.ws + coalesce(l.swap, 0) ELSE l.committed END
                 FROM level l
                 WHERE l.run = y.run AND l.type = y.type_id AND l.sample <= y.tail_sample
                 ORDER BY l.sample DESC LIMIT 1) AS tail_held
    FROM y),
w AS MATERIALIZED (
    SELECT run, type_id, type, first_sample, coalesce(
               (SELECT s.id FROM sample s
                WHERE s.run = z.run AND s.id < (
                    SELECT min(l.sample) FROM level l
                    WHERE l.run = z.run AND l.type = z.type_id AND l.sample > z.tail_sample
                      AND CASE WHEN z.has_ws THEN l.ws + coalesce(l.swap, 0) ELSE l.committed END
                          < tail_held / 2)
                ORDER BY s.id DESC LIMIT 1), end_sample) AS last_sample, has_ws
    FROM z)
SELECT *, (last_sample - first_sample) / 1024 + 1 AS per_block FROM w;

CREATE VIEW retained_floor AS
WITH
s AS MATERIALIZED (SELECT * FROM series),
u AS (SELECT DISTINCT run, first_sample, last_sample, per_block FROM s),
k AS MATERIALIZED (
    SELECT u.run, u.last_sample, n.block,
           (SELECT coalesce(sum(p.ticks), 0)::bigint FROM sample p
            WHERE p.id >= u.first_sample + n.block * u.per_block
              AND p.id < u.first_sample + (n.block + 1) * u.per_block) AS ticks
    FROM u CROSS JOIN LATERAL
         generate_series(0, (u.last_sample - u.first_sample) / u.per_block) AS n(block)),
c AS MATERIALIZED (
    SELECT run, last_sample, block, ticks,
           (sum(ticks) OVER (PARTITION BY run, last_sample ORDER BY block) - ticks)::bigint AS tick,
           (sum(ticks) OVER (PARTITION BY run, last_sample))::bigint AS run_ticks
    FROM k),
b AS MATERIALIZED (
    SELECT s.run, s.type_id, s.type, n.block, s.first_sample + n.block * s.per_block AS sample,
           (SELECT min(CASE WHEN s.has_ws THEN l.ws + coalesce(l.swap, 0) ELSE l.committed END)
            FROM level l
            WHERE l.run = s.run AND l.type = s.type_id
              AND l.sample < s.first_sample + (n.block + 1) * s.per_block
              AND l.sample >= (SELECT max(k.sample) FROM level k
                               WHERE k.run = s.run AND k.type = s.type_id
                                 AND k.sample <= s.first_sample + n.block * s.per_block))
               AS held,
           s.per_block, s.last_sample
    FROM s CROSS JOIN LATERAL
         generate_series(0, (s.last_sample - s.first_sample) / s.per_block) AS n(block))
SELECT b.run, b.type_id, b.type, b.block, b.sample, b.sample + b.per_block AS end_sample, b.held,
       min(b.held) OVER (PARTITION BY b.run, b.type_id ORDER BY b.block DESC) AS floor,
       c.tick, c.ticks, c.run_ticks
FROM b JOIN c ON c.run = b.run AND c.last_sample = b.last_sample AND c.block = b.block;

CREATE VIEW floor_rise AS
WITH
f AS MATERIALIZED (
    SELECT *, lag(floor) OVER w AS before, count(*) OVER (PARTITION BY run, type_id) AS blocks
    FROM retained_floor
    WINDOW w AS (PARTITION BY run, type_id ORDER BY block)),
r AS MATERIALIZED (
    SELECT *, floor - before AS rise,
           row_number() OVER (PARTITION BY run, type_id ORDER BY floor - before DESC) AS rank,
           block - row_number() OVER (PARTITION BY run, type_id ORDER BY block) AS island
    FROM f WHERE floor > before),
typical AS MATERIALIZED (
    SELECT r.run, r.type_id, r.rise AS typical,
           sum(f.ticks) * least(1.0, 1024.0 / max(f.run_ticks)) AS near
    FROM r LEFT JOIN f ON f.run = r.run AND f.type_id = r.type_id
                      AND f.held - f.floor <= r.rise / 4
    WHERE r.rank = (SELECT value FROM setting WHERE name = 'min_steps')
    GROUP BY r.run, r.type_id, r.rise),
close AS (
    SELECT r.*, t.near, t.typical, s.t_ns AS at_ns, s.flags, lag(s.t_ns) OVER w AS last_ns,
           r.tick - lag(r.tick) OVER w AS gap, lag(r.island) OVER w AS last_island,
           least(r.rise, lag(r.rise) OVER w) AS smaller
    FROM r
    JOIN typical t ON t.run = r.run AND t.type_id = r.type_id
    JOIN sample s ON s.id = (SELECT min(p.id) FROM sample p
                             WHERE p.run = r.run AND p.id >= r.sample)
    WHERE r.rise >= greatest(t.typical, (SELECT value FROM setting WHERE name = 'min_step_bytes'))
                    / 16
    WINDOW w AS (PARTITION BY r.run, r.type_id ORDER BY r.block)),
big AS (
    SELECT n.*,
           CASE WHEN gap <= greatest(CASE WHEN island = last_island THEN 4 ELSE 2 END,
                                     CASE WHEN (SELECT max(m.t_ns) FROM mark m WHERE m.run = n.run
                                                AND m.t_ns <= at_ns) <= last_ns
                                          THEN 8 ELSE 2 END,
                                     CASE WHEN gap <= 16
                                               AND (SELECT coalesce(sum(p.ticks), 0) FROM sample p
                                                    WHERE p.run = n.run AND p.t_ns >= last_ns
                                                    AND p.t_ns < at_ns AND p.flags & 16 = 0) <= 2
                                          THEN 16 ELSE 2 END,
                                     run_ticks / 96)
                     AND NOT (smaller >= typical / 2
                              AND EXISTS (SELECT 1 FROM mark m JOIN sample q ON q.id = n.sample - 1
                                          WHERE m.run = n.run AND m.t_ns <= at_ns
                                            AND m.t_ns > q.t_ns
                                            AND (n.flags | q.flags) & 512 <> 0))
                THEN 0 ELSE 1 END AS head
    FROM close n),
c AS (SELECT *, sum(head) OVER (PARTITION BY run, type_id ORDER BY block) AS chain FROM big),
g AS (SELECT run, type_id, type, chain, min(sample) AS sample, max(end_sample) AS end_sample,
             min(block) AS first, max(block) AS last, greatest(4, blocks / 64) AS reach, near,
             max(tick) - min(tick) + 1 AS width, min(tick) AS tick, run_ticks, blocks
      FROM c GROUP BY run, type_id, type, chain, near, run_ticks, blocks),
ends AS (
    SELECT *, least(first - 1, greatest(first - 1 - reach,
                                        coalesce(lag(last) OVER w + reach, 0))) AS low,
           least(last + reach, coalesce(lead(first) OVER w, blocks) - 1) AS high
    FROM g WINDOW w AS (PARTITION BY run, type_id ORDER BY chain))
SELECT e.run, e.type_id, e.type, e.chain, e.sample, e.end_sample, a.floor AS before,
       b.floor AS after, b.floor - a.floor AS bytes, e.width, e.near, e.tick,
       e.run_ticks
FROM ends e
JOIN f a ON a.run = e.run AND a.type_id = e.type_id AND a.block = e.low
JOIN f b ON b.run = e.run AND b.type_id = e.type_id AND b.block = e.high;

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
                     AND CASE WHEN e.has_ws THEN k.ws + coalesce(k.swap, 0) ELSE k.committed END
                         < e.after - e.bytes / 4
                   ORDER BY k.sample DESC LIMIT 1)) AS at
      FROM e),
m AS (SELECT x.*, p.t_ns, p.wall_ns, p.flags,
             (SELECT k.id FROM mark k WHERE k.run = x.run AND k.t_ns <= p.t_ns
              ORDER BY k.t_ns DESC, k.id DESC LIMIT 1) AS mark
      FROM x JOIN sample p ON p.id = x.at),
k AS MATERIALIZED (
    SELECT m.*, row_number() OVER (PARTITION BY run, type_id ORDER BY bytes DESC) AS rank
    FROM m
    WHERE until_ns > t_ns AND (t_ns < until_ns / 32 * 31 OR flags & 512 <> 0)
      AND (mark IS NOT NULL OR (t_ns > until_ns / 32 AND tick > 2)))
SELECT k.run, k.type_id, k.type, k.at AS sample, k.t_ns, k.wall_ns, k.bytes, k.before, k.after,
       k.mark, k.until_ns, k.width, k.near, k.run_ticks, k.flags,
       k.bytes >= (SELECT value FROM setting WHERE name = 'min_step_permille') * t.bytes / 1000
           AS is_step
FROM k
JOIN k t ON t.run = k.run AND t.type_id = k.type_id
        AND t.rank = (SELECT value FROM setting WHERE name = 'min_steps');

CREATE VIEW floor_trend AS
WITH
f AS MATERIALIZED (SELECT * FROM retained_floor WHERE run_ticks >= 24 AND held IS NOT NULL),
j AS (SELECT f.*, n.stretch, row_number() OVER w AS rank, lead(f.held) OVER w AS second,
             lead(f.held, 2) OVER w AS third
      FROM f JOIN generate_series(1, 11) AS n(stretch)
           ON n.stretch BETWEEN f.tick * 12 / f.run_ticks
                        AND (f.tick + greatest(f.ticks, 1) - 1) * 12 / f.run_ticks
      WINDOW w AS (PARTITION BY f.run, f.type_id, n.stretch ORDER BY f.held)),
q AS MATERIALIZED (
    SELECT run, type_id, type, stretch,
           CASE WHEN ticks * 24 <= run_ticks AND second - held > 4 * (third - second)
                THEN second ELSE held END AS least
    FROM j WHERE rank = 1),
g AS (SELECT *, min(least) OVER (PARTITION BY run, type_id ORDER BY stretch DESC) AS floor,
             max(least) OVER (PARTITION BY run, type_id ORDER BY stretch) - least AS fall
      FROM q),
d AS (SELECT *, floor - lag(floor) OVER (PARTITION BY run, type_id ORDER BY stretch) AS rise
      FROM g),
k AS (SELECT a.run, a.type_id, sum(sign(b.least - a.least))::bigint AS in_order
      FROM q a JOIN q b ON b.run = a.run AND b.type_id = a.type_id AND b.stretch > a.stretch
      GROUP BY a.run, a.type_id),
u AS (SELECT run, type_id, type, count(*) FILTER (WHERE rise > 0) AS rising_stretches,
             max(floor) - min(floor) AS grew, max(fall) AS fall, max(rise) AS largest,
             sum(CASE WHEN stretch >= 8 THEN rise ELSE 0 END) AS late,
             sum(CASE WHEN stretch >= 9 THEN rise ELSE 0 END) AS last
      FROM d GROUP BY run, type_id, type),
b AS (SELECT d.run, d.type_id, min(d.stretch) AS first FROM d
      JOIN u ON u.run = d.run AND u.type_id = d.type_id
      WHERE d.rise * 64 > u.grew GROUP BY d.run, d.type_id)
SELECT u.run, u.type_id, u.type, u.grew, (12 - b.first) / 12::float8 AS grew_in, u.fall, u.largest,
       u.rising_stretches,
       k.in_order * 1000 / 55 AS order_permille,
       u.grew >= (SELECT value FROM setting WHERE name = 'min_growth_bytes')
           AND k.in_order * 1000 / 55 >= 700 AND u.fall * 5 <= u.grew * 2
           AND u.largest * 4 <= u.grew * 3 AND u.rising_stretches >= 2
           AND u.late * 100 >= u.grew * 6 AND u.last > 0 AS rising
FROM u JOIN k ON k.run = u.run AND k.type_id = u.type_id
LEFT JOIN b ON b.run = u.run AND b.type_id = u.type_id;

CREATE VIEW punctuated_growth AS
WITH
g AS MATERIALIZED (SELECT * FROM floor_step),
trend AS MATERIALIZED (SELECT * FROM floor_trend),
gap AS MATERIALIZED (
    SELECT *, t_ns - lag(t_ns) OVER w AS wait, row_number() OVER w AS step,
           coalesce(mark <> lag(mark) OVER w, mark IS NOT NULL) AS by_mark
    FROM g WHERE is_step
    WINDOW w AS (PARTITION BY run, type_id ORDER BY sample)),
v AS (SELECT run, type_id, count(*) AS steps, sum(bytes) AS bytes,
             max(until_ns) - max(t_ns) AS plateau_ns, max(until_ns) AS until_ns,
             max(wait) AS wait_ns,
             count(*) FILTER (WHERE by_mark) * 3 >= count(*) * 2 AS by_marks,
             bool_and(by_mark) AS each_mark,
             (sum(width) * CASE WHEN bool_and(by_mark) THEN 2 ELSE 4 END <= max(run_ticks)
                 AND max(near) >= count(*)
                     * CASE WHEN count(*) FILTER (WHERE by_mark) * 3 >= count(*) * 2
                            THEN 2 ELSE 6 END)
                 OR (bool_and(by_mark)
                     AND count(*) FILTER (WHERE flags & 512 <> 0) * 2 >= count(*)) AS abrupt
      FROM gap GROUP BY run, type_id)
SELECT gap.run, gap.type, gap.step,
       to_char(to_timestamp(round(gap.wall_ns / 1e6) / 1e3) AT TIME ZONE 'UTC',
               'YYYY-MM-DD HH24:MI:SS.MS') AS time,
       gap.t_ns / 1e9::float8 AS t_s, gap.bytes, m.label AS mark,
       m.t_ns / 1e9::float8 AS mark_t_s, gap.sample, gap.after AS held_after
FROM v
JOIN gap ON gap.run = v.run AND gap.type_id = v.type_id
LEFT JOIN trend t ON t.run = v.run AND t.type_id = v.type_id
LEFT JOIN mark m ON m.id = gap.mark
WHERE v.steps >= (SELECT value FROM setting WHERE name = 'min_steps')
  AND v.abrupt
  AND (t.rising OR (t.fall * 5 <= t.grew * 2 AND t.largest * 4 <= t.grew * 3)
       OR (v.each_mark AND (t.run IS NULL OR t.fall * 5 <= t.grew * 2)))
  AND (v.by_marks OR v.plateau_ns <= 2 * v.wait_ns
       OR v.plateau_ns * 1000.0 <= v.until_ns * 1.0
              * (SELECT value FROM setting WHERE name = 'plateau_permille'))
  AND v.bytes * 1000.0 >= (SELECT value FROM setting WHERE name = 'min_share_permille') * 1.0
                        * (SELECT sum(g.bytes) FROM g
                           WHERE g.run = v.run AND g.type_id = v.type_id)
ORDER BY gap.run, gap.type_id, gap.step;

CREATE VIEW leak_suspects AS
WITH
p AS MATERIALIZED (
    SELECT run, type, count(*) AS steps, sum(bytes) AS bytes, min(t_s) AS since_s
    FROM punctuated_growth GROUP BY run, type)
SELECT u.run, u.type, CASE WHEN p.steps IS NULL THEN 'steady' ELSE 'steps' END AS shape,
       coalesce(p.bytes, u.grew)::bigint AS grew, p.steps, p.since_s,
       (SELECT trunc(CASE WHEN p.steps IS NULL
                          THEN u.grew * 3600e9::float8 / (u.grew_in * max(s.until_ns))
                          ELSE p.bytes * 3600::float8 / (max(s.until_ns) / 1e9::float8 - p.since_s)
                     END)::bigint
        FROM sample s WHERE s.run = u.run) AS bytes_per_hour,
       u.rising_stretches
FROM floor_trend u LEFT JOIN p ON p.run = u.run AND p.type = u.type
WHERE p.steps IS NOT NULL OR u.rising
ORDER BY u.run DESC, grew DESC;

-- release_leaks: which release started to leak? As `memtracer sql FILE release_leaks`.
--   SELECT * FROM release_leaks WHERE label LIKE 'server %';
CREATE VIEW release_leaks AS
WITH
u AS MATERIALIZED (
    SELECT id AS run, label, host, pid, start_wall_ns,
           lag(id) OVER (ORDER BY start_wall_ns, id) AS before
    FROM run WHERE EXISTS (SELECT 1 FROM sample s WHERE s.run = run.id)),
l AS MATERIALIZED (SELECT * FROM leak_suspects)
SELECT u.label,
       to_char(to_timestamp(u.start_wall_ns / 1e9) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')
           AS started,
       u.host, u.pid, u.run, l.type, l.shape, l.grew, l.bytes_per_hour,
       CASE WHEN l.type IS NULL THEN NULL
            WHEN EXISTS (SELECT 1 FROM l p WHERE p.run = u.before AND p.type = l.type) THEN 0
            ELSE 1 END AS starts
FROM u LEFT JOIN l ON l.run = u.run
ORDER BY u.start_wall_ns, u.run, l.grew DESC;

COMMIT;
