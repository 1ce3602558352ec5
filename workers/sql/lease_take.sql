-- The lease of a drop for a new run, unless another run may hold it still or all
-- is deleted: then no row.
INSERT INTO ops.purge_lease AS l (drop_event, warehouse_id, object_id, run, expires_at)
VALUES ($1, $2, $3, gen_random_uuid(), clock_timestamp() + $4::bigint * interval '1 microsecond')
ON CONFLICT (drop_event, object_id) DO UPDATE
   SET run = excluded.run, expires_at = excluded.expires_at
 WHERE l.report IS NULL AND l.expires_at <= clock_timestamp()
RETURNING l.run
