-- Another place: a run that is at work loses its lease, and with it the right to
-- move the cursor. The row may be missing.
INSERT INTO publish.destination (destination_id, epoch, position) VALUES ($1, $2, $3)
ON CONFLICT (destination_id) DO UPDATE
   SET epoch = excluded.epoch, position = excluded.position, lease_owner = NULL, lease_until = NULL,
       failures = 0, retry_after = NULL, last_error = NULL, last_error_at = NULL, halted_at = NULL
