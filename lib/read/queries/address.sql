-- What was at the address ?1 (an integer), in all runs: regions and modules, newest last.
SELECT r.run, 'region' AS what, r.base_address, r.end_address, r.type, r.protection_mask,
       r.file_name AS name, r.owner, r.first_sample, r.last_sample
FROM region_row r WHERE ?1 >= r.base AND ?1 < r.base + r.bytes
UNION ALL
SELECT m.run, 'module', printf('0x%012x', m.base), printf('0x%012x', m.base + m.bytes), 'image',
       NULL, p.text, NULL, m.first_sample, m.last_sample
FROM module m JOIN string p ON p.id = m.path WHERE ?1 >= m.base AND ?1 < m.base + m.bytes
ORDER BY 1, 9;
