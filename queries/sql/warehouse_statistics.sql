-- A page of the hours in which a warehouse changed, newest first, before a time.
SELECT s.until, s.tables, s.views, s.updated_at
  FROM rm.warehouse_statistics s
 WHERE s.warehouse_id = $1 AND ($2::timestamptz IS NULL OR s.until < $2)
 ORDER BY s.until DESC
 LIMIT $3
