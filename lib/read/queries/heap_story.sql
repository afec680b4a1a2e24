-- Which number grows with the process? Held memory per type, and every counter in bytes: at the
-- first and at the last sample of the latest run. A runtime's heap that stays flat while `heap` or
-- `private` grows says that the growth is native code's.
SELECT 'type' AS kind, t.name, a.held AS first, z.held AS last, z.held - a.held AS grew
FROM (SELECT type, coalesce(ws + ifnull(swap, 0), committed) AS held, min(sample)
      FROM level WHERE run = (SELECT run FROM latest) GROUP BY type) a
JOIN (SELECT type, coalesce(ws + ifnull(swap, 0), committed) AS held, max(sample)
      FROM level WHERE run = (SELECT run FROM latest) GROUP BY type) z ON z.type = a.type
JOIN type t ON t.id = a.type
WHERE t.name <> 'free'
UNION ALL
SELECT 'counter', k.name, a.value, z.value, z.value - a.value
FROM (SELECT counter, value, min(sample)
      FROM counter WHERE run = (SELECT run FROM latest) GROUP BY counter) a
JOIN (SELECT counter, value, max(sample)
      FROM counter WHERE run = (SELECT run FROM latest) GROUP BY counter) z
     ON z.counter = a.counter
JOIN counter_kind k ON k.id = a.counter
WHERE k.unit = 'bytes'
ORDER BY kind DESC, grew DESC;
