-- A page of a warehouse's namespaces of one level, behind a folded name.
SELECT n.namespace_id, n.levels, n.name_fold1
  FROM rm.namespace n
 WHERE n.warehouse_id = $1 AND n.branch_id = $2 AND n.parent_id IS NULL AND n.name_fold1 > $3
 ORDER BY n.name_fold1
 LIMIT $4
