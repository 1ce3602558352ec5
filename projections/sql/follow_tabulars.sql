-- Where tables and views stand now, for the index that they are searched in.
SELECT t.warehouse_id, t.branch_id, t.tabular_id, n.levels, t.name, t.stream_version
  FROM rm.tabular t
  JOIN rm.namespace n ON n.namespace_id = t.namespace_id AND n.warehouse_id = t.warehouse_id AND n.branch_id = t.branch_id
 WHERE t.tabular_id = ANY ($1)
