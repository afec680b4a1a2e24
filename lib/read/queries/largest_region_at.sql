-- largest_region at sample ?1.
SELECT type AS usage, base_address, max(bytes) AS bytes, file_name, owner
FROM region_row
WHERE run = (SELECT run FROM sample WHERE id = ?1) AND first_sample <= ?1
  AND (last_sample IS NULL OR last_sample >= ?1)
GROUP BY type ORDER BY bytes DESC;
