-- What each type grew from the mark ?1 to the mark ?2, most first.
SELECT * FROM growth_between_marks WHERE from_mark = ?1 AND to_mark = ?2 ORDER BY grew DESC;
