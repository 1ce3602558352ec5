-- What a warehouse held at the end of an hour.
INSERT INTO rm.warehouse_statistics (warehouse_id, until, tables, views, updated_at, position)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (warehouse_id, until) DO UPDATE
   SET tables = excluded.tables, views = excluded.views, updated_at = excluded.updated_at, position = excluded.position
