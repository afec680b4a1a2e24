-- Which release started to leak? Every run whose label is like ?1 (GLOB; NULL = all), in order of
-- time, with each type that is under suspicion, or none. starts: 1 where the type leaks and did not
-- in the run before that has samples.
WITH u AS MATERIALIZED (
    SELECT id AS run, label, host, pid, start_wall_ns,
           lag(id) OVER (ORDER BY start_wall_ns, id) AS before
    FROM run WHERE (?1 IS NULL OR label GLOB ?1)
             AND EXISTS (SELECT 1 FROM sample s WHERE s.run = run.id)),
l AS MATERIALIZED (SELECT * FROM leak_suspects)
SELECT u.label, strftime('%Y-%m-%d %H:%M:%S', u.start_wall_ns / 1e9, 'unixepoch') AS started,
       u.host, u.pid, u.run, l.type, l.shape, l.grew, l.bytes_per_hour,
       iif(l.type IS NULL, NULL, NOT EXISTS (SELECT 1 FROM l p WHERE p.run = u.before
                                             AND p.type = l.type)) AS starts
FROM u LEFT JOIN l ON l.run = u.run
ORDER BY u.start_wall_ns, u.run, l.grew DESC;
