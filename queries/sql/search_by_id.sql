-- The table or view of a warehouse that has an id or table-uuid, and those in
-- the namespace that has it.
SELECT x.tabular_id, x.kind, n.levels, x.name, NULL::real, n.namespace_id, n.ancestors
  FROM (SELECT t.*, 0 AS rank FROM rm.tabular t WHERE t.tabular_id = $3 AND t.warehouse_id = $1 AND t.branch_id = $2
         UNION
        SELECT t.*, 0 FROM rm.tabular t WHERE t.table_uuid = $3 AND t.warehouse_id = $1 AND t.branch_id = $2
         UNION
        (SELECT t.*, 1 FROM rm.tabular t WHERE t.namespace_id = $3 AND t.warehouse_id = $1 AND t.branch_id = $2
          ORDER BY t.name_fold1 LIMIT $4)) x
  JOIN rm.namespace n ON n.namespace_id = x.namespace_id AND n.warehouse_id = $1 AND n.branch_id = $2
 ORDER BY x.rank, x.name_fold1
 LIMIT $4
