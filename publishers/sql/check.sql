-- What stands in the row while the lease is ours; no row if it is not, or if
-- nothing is to be published now.
SELECT d.stream_version, d.start_version, d.name, d.kind, d.settings, d.filter, d.on_refusal, p.epoch, p.position, p.event, p.failures, h.size,
       EXISTS (SELECT FROM publish.parked k WHERE k.destination_id = $1 AND k.retry)
  FROM publish.destination p, rm.destination d, es.log_head h
 WHERE p.destination_id = $1 AND d.destination_id = $1
   AND p.lease_owner = $2 AND p.lease_until > clock_timestamp()
   AND NOT d.paused AND p.halted_at IS NULL
   AND (p.retry_after IS NULL OR p.retry_after <= clock_timestamp())
