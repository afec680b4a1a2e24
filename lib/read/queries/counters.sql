-- The newest value of each counter in the latest run.
SELECT k.name, c.value, k.unit, k.description
FROM latest n
CROSS JOIN counter_kind k
CROSS JOIN counter c ON c.run = n.run AND c.counter = k.id
     AND c.sample = (SELECT max(x.sample) FROM counter x
                     WHERE x.run = n.run AND x.counter = k.id)
ORDER BY k.id;
