-- Transaction 1: the lease of a destination for which there is something to do,
-- unless somebody else has it. No row: there is nothing to do, or not by us.
UPDATE publish.destination p
   SET lease_owner = $2, lease_until = clock_timestamp() + $3::bigint * interval '1 microsecond'
  FROM rm.destination d, es.log_head h
 WHERE p.destination_id = $1 AND d.destination_id = $1
   AND NOT d.paused AND p.halted_at IS NULL
   AND (p.retry_after IS NULL OR p.retry_after <= clock_timestamp())
   AND (p.lease_owner IS NULL OR p.lease_until IS NULL OR p.lease_until <= clock_timestamp() OR p.lease_owner = $2)
   AND (p.position < h.size OR EXISTS (SELECT FROM publish.parked k WHERE k.destination_id = $1 AND k.retry))
RETURNING d.stream_version, d.start_version, d.name, d.kind, d.settings, d.filter, d.on_refusal, p.epoch, p.position, p.event, p.failures, h.size,
       EXISTS (SELECT FROM publish.parked k WHERE k.destination_id = $1 AND k.retry)
