-- A page of a namespace's direct children, behind a folded name.
SELECT n.namespace_id, n.levels, n.name_fold1
  FROM rm.namespace n
 WHERE n.warehouse_id = $1 AND n.branch_id = $2 AND n.parent_id = $3 AND n.name_fold1 > $4
 ORDER BY n.name_fold1
 LIMIT $5
