-- Kicks for destinations that are behind and that nobody works at, unless one
-- waits already; and their rows, should they be missing.
WITH healed AS MATERIALIZED (SELECT publish.heal())
INSERT INTO river.river_job (args, kind, queue)
SELECT jsonb_build_object('destination', p.destination_id), $1::text, $2::text
  FROM healed, publish.destination p, es.log_head h
 WHERE p.halted_at IS NULL
   AND (p.position < h.size OR EXISTS (SELECT FROM publish.parked k WHERE k.destination_id = p.destination_id AND k.retry))
   AND (p.retry_after IS NULL OR p.retry_after <= clock_timestamp())
   AND (p.lease_until IS NULL OR p.lease_until <= clock_timestamp())
   AND EXISTS (SELECT FROM rm.destination d WHERE d.destination_id = p.destination_id AND NOT d.paused)
   AND NOT EXISTS (
       SELECT FROM river.river_job j
        WHERE j.kind = $1::text AND j.state = 'available' AND j.args @> jsonb_build_object('destination', p.destination_id))
