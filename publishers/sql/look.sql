-- All destinations: what may be done for them, and when. A destination that is
-- missing in rm is being rebuilt, or removed: nothing is done for it.
SELECT p.destination_id, coalesce(d.stream_version, 0), coalesce(d.paused, true) OR p.halted_at IS NOT NULL,
       p.position < h.size OR EXISTS (SELECT FROM publish.parked k WHERE k.destination_id = p.destination_id AND k.retry),
       CASE WHEN p.lease_until > clock_timestamp() THEN p.lease_owner END,
       coalesce(greatest(extract(epoch FROM p.lease_until - clock_timestamp()), 0), 0)::float8,
       coalesce(greatest(extract(epoch FROM p.retry_after - clock_timestamp()), 0), 0)::float8
  FROM publish.destination p
 CROSS JOIN es.log_head h
  LEFT JOIN rm.destination d ON d.destination_id = p.destination_id
