-- A kick for each destination that nobody holds and that may be tried. It reads
-- nothing of rm: a rebuild that swaps it must not have to wait for the sequencer.
INSERT INTO river.river_job (args, kind, queue)
SELECT jsonb_build_object('destination', destination_id), $1::text, $2::text
  FROM publish.destination
 WHERE halted_at IS NULL
   AND (retry_after IS NULL OR retry_after <= clock_timestamp())
   AND (lease_until IS NULL OR lease_until <= clock_timestamp())
