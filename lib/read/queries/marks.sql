-- The marks of all runs in order of time.
SELECT m.run, m.id AS mark, m.t_ns / 1e9 AS t_s,
       strftime('%Y-%m-%d %H:%M:%f', m.wall_ns / 1e9, 'unixepoch') AS time, m.tid, m.label
FROM mark m ORDER BY m.run, m.t_ns, m.id;
