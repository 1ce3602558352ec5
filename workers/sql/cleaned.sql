-- An object was looked at.
INSERT INTO ops.cleaned (object_id, warehouse_id, version, cleaned_at, waiting, known_until)
VALUES ($1, $2, $3, clock_timestamp(), $4, $5)
ON CONFLICT (object_id) DO UPDATE
   SET warehouse_id = excluded.warehouse_id, version = excluded.version, cleaned_at = excluded.cleaned_at,
       waiting = excluded.waiting, known_until = excluded.known_until
