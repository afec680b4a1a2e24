-- The runs of the file, newest first.
SELECT id AS run, label, state, state_detail, host, pid, exe, allocator,
       strftime('%Y-%m-%d %H:%M:%S', start_wall_ns / 1e9, 'unixepoch') AS started,
       (SELECT max(until_ns) FROM sample WHERE run = run.id) / 1e9 AS seconds,
       (SELECT sum(ticks) FROM sample WHERE run = run.id) AS ticks, interval_ms, version
FROM run ORDER BY id DESC;
