-- What each type grew from sample ?1 to sample ?2 of one run, most first.
SELECT t.name AS type,
       coalesce(b.ws + ifnull(b.swap, 0), b.committed)
           - iif(b.ws IS NULL, a.committed, a.ws + ifnull(a.swap, 0)) AS grew,
       b.ws - a.ws AS grew_ws, b.committed - a.committed AS grew_committed,
       b.private - a.private AS grew_private, b.size - a.size AS grew_size,
       b.swap - a.swap AS grew_swap, b.blocks - a.blocks AS grew_blocks
FROM (SELECT run FROM sample WHERE id = ?2) n
CROSS JOIN type t
CROSS JOIN level a ON a.run = n.run AND a.type = t.id
     AND a.sample = (SELECT max(k.sample) FROM level k
                     WHERE k.run = n.run AND k.type = t.id AND k.sample <= ?1)
CROSS JOIN level b ON b.run = n.run AND b.type = t.id
     AND b.sample = (SELECT max(k.sample) FROM level k
                     WHERE k.run = n.run AND k.type = t.id AND k.sample <= ?2)
WHERE t.name <> 'free'
ORDER BY grew DESC, t.id;
