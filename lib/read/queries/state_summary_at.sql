-- state_summary at sample ?1, from the list of regions; MEM_FREE from the levels.
WITH r AS (SELECT * FROM region_row
           WHERE run = (SELECT run FROM sample WHERE id = ?1) AND first_sample <= ?1
             AND (last_sample IS NULL OR last_sample >= ?1))
SELECT 'MEM_FREE' AS state, l.blocks AS regions, l.size AS bytes, NULL AS percent_of_busy
FROM level l JOIN type t ON t.id = l.type AND t.name = 'free'
WHERE l.run = (SELECT run FROM sample WHERE id = ?1)
  AND l.sample = (SELECT max(k.sample) FROM level k
                  WHERE k.run = l.run AND k.type = l.type AND k.sample <= ?1)
UNION ALL
SELECT 'MEM_' || alloc_type, count(*), sum(bytes),
       round(100.0 * sum(bytes) / (SELECT sum(bytes) FROM r), 2)
FROM r GROUP BY alloc_type;
