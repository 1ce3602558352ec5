-- The tables and views of a warehouse whose path is nearest to a text, with
-- what is asked for the right to see them.
SELECT t.tabular_id, t.kind, n.levels, t.name, s.distance, n.namespace_id, n.ancestors
  FROM rm.search_tabulars($1, $2, $3, $4) s
  JOIN rm.tabular t ON t.tabular_id = s.tabular_id AND t.warehouse_id = $1 AND t.branch_id = $2
  JOIN rm.namespace n ON n.namespace_id = t.namespace_id AND n.warehouse_id = $1 AND n.branch_id = $2
 ORDER BY s.distance, t.name_fold1, t.tabular_id
