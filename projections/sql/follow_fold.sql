-- Folded hours of warehouses; the last one of a warehouse may come again.
INSERT INTO @folded@ (warehouse_id, until, tables, views, updated_at, position)
SELECT * FROM unnest($1::uuid[], $2::timestamptz[], $3::bigint[], $4::bigint[], $5::timestamptz[], $6::bigint[])
ON CONFLICT (warehouse_id, until) DO UPDATE
   SET tables = excluded.tables, views = excluded.views, updated_at = excluded.updated_at, position = excluded.position
