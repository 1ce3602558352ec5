-- A page of a namespace's tables or views, behind a folded name.
SELECT t.tabular_id, t.name, t.name_fold1
  FROM rm.tabular t
 WHERE t.warehouse_id = $1 AND t.branch_id = $2 AND t.namespace_id = $3 AND t.kind = $4 AND t.name_fold1 > $5
 ORDER BY t.name_fold1
 LIMIT $6
