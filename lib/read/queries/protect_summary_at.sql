-- protect_summary at sample ?1.
WITH r AS (SELECT * FROM region_row
           WHERE run = (SELECT run FROM sample WHERE id = ?1) AND first_sample <= ?1
             AND (last_sample IS NULL OR last_sample >= ?1))
SELECT 'PAGE_' || replace(protection, ' GUARD', '|PAGE_GUARD') AS protect, count(*) AS regions,
       sum(bytes) AS bytes,
       round(100.0 * sum(bytes) / (SELECT sum(bytes) FROM r), 2) AS percent_of_busy
FROM r GROUP BY protection ORDER BY bytes DESC;
