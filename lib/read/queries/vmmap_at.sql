-- The table of types by states at sample ?1, as view vmmap has it for the latest.
WITH l AS (
    SELECT t.name, l.*
    FROM (SELECT run FROM sample WHERE id = ?1) n
    CROSS JOIN type t
    CROSS JOIN level l ON l.run = n.run AND l.type = t.id
         AND l.sample = (SELECT max(k.sample) FROM level k
                         WHERE k.run = n.run AND k.type = t.id AND k.sample <= ?1))
SELECT type, size, committed, charged, private, ws, ws_private, ws_shareable, ws_shared, pss,
       swap, locked, huge, lazy_free, blocks, largest
FROM (SELECT type AS place, name AS type, size, committed, charged, private, ws, ws_private,
             ws_shareable, ws_shared, pss, swap, locked, huge, lazy_free, blocks, largest
      FROM l
      UNION ALL
      SELECT 1000, 'total', sum(size), sum(committed), sum(charged), sum(private), sum(ws),
             sum(ws_private), sum(ws_shareable), sum(ws_shared), sum(pss), sum(swap),
             sum(locked), sum(huge), sum(lazy_free), sum(blocks), max(largest)
      FROM l WHERE name <> 'free' HAVING count(*) > 0)
ORDER BY place;
