-- Clean-ups of a warehouse that have started and not finished.
SELECT c.clean_up_id, c.object_id, cardinality(c.files)
  FROM rm.clean_up c
 WHERE c.warehouse_id = $1 AND c.branch_id = $2 AND c.clean_up_id > $3
 ORDER BY c.clean_up_id
 LIMIT $4
