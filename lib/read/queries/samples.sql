-- The samples of run ?1 (NULL: of the latest) with the words of their flags.
SELECT s.id AS sample, s.t_ns / 1e9 AS t_s, s.until_ns / 1e9 AS until_s, s.ticks, s.missed,
       s.depth, s.regions, s.cost_wall_ns, s.cost_cpu_ns,
       (SELECT group_concat(f.name, ' ') FROM sample_flag f WHERE s.flags & f.bit) AS flags
FROM sample s WHERE s.run = ifnull(?1, (SELECT run FROM latest)) ORDER BY s.t_ns;
