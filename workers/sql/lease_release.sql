-- The run ends and deletes nothing more: the next one need not wait.
UPDATE ops.purge_lease SET expires_at = clock_timestamp()
 WHERE drop_event = $1 AND object_id = $3 AND run = $2 AND report IS NULL
