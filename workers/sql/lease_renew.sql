-- One more term for the run that holds the lease; no row if it does not.
UPDATE ops.purge_lease
   SET expires_at = clock_timestamp() + $3::bigint * interval '1 microsecond'
 WHERE drop_event = $1 AND object_id = $4 AND run = $2 AND report IS NULL
