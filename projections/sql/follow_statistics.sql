-- The last row of each of some warehouses.
SELECT q.warehouse_id, l.until, l.tables, l.views, l.updated_at, l.position
  FROM unnest($1::uuid[]) AS q (warehouse_id)
 CROSS JOIN LATERAL (
       SELECT s.until, s.tables, s.views, s.updated_at, s.position
         FROM rm.warehouse_statistics s
        WHERE s.warehouse_id = q.warehouse_id
        ORDER BY s.until DESC LIMIT 1) AS l
