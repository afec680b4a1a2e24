-- The regions alive at sample ?1, by address.
SELECT base_address, end_address, bytes, type, page_type, alloc_type, protection,
       protection_mask, file_name, offset, owner, thread, confidence, ws, swap, id
FROM region_row
WHERE run = (SELECT run FROM sample WHERE id = ?1) AND first_sample <= ?1
  AND (last_sample IS NULL OR last_sample >= ?1)
ORDER BY base < 0, base;
