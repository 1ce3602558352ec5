-- The last row of each warehouse.
SELECT DISTINCT ON (s.warehouse_id) s.warehouse_id, s.until, s.tables, s.views, s.updated_at, s.position
  FROM rm.warehouse_statistics s
 WHERE s.warehouse_id = ANY ($1)
 ORDER BY s.warehouse_id, s.until DESC
