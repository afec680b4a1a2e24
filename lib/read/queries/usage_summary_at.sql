-- usage_summary at sample ?1.
SELECT name AS usage, blocks AS regions, size AS bytes,
       iif(name = 'free', NULL, round(100.0 * size
           / nullif(sum(iif(name = 'free', 0, size)) OVER (), 0), 2)) AS percent_of_busy,
       round(100.0 * size / nullif(sum(size) OVER (), 0), 2) AS percent_of_total
FROM (SELECT run FROM sample WHERE id = ?1) n
CROSS JOIN type t
CROSS JOIN level l ON l.run = n.run AND l.type = t.id
     AND l.sample = (SELECT max(k.sample) FROM level k
                     WHERE k.run = n.run AND k.type = t.id AND k.sample <= ?1)
WHERE size > 0 AND name <> 'page_table'
ORDER BY name <> 'free', size DESC;
