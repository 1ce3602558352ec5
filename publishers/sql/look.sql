-- All destinations: what may be done for them, and when. A destination that is
-- missing in rm is being rebuilt, or removed: nothing is done for it. The head and
-- what is parked are asked for once: by tables without statistics a join looks so
-- dear that PostgreSQL compiles it, for seconds, each time.
SELECT p.destination_id, coalesce(d.stream_version, 0), coalesce(d.paused, true) OR p.halted_at IS NOT NULL,
       p.position < (SELECT size FROM es.log_head) OR p.destination_id IN (SELECT k.destination_id FROM publish.parked k WHERE k.retry),
       CASE WHEN p.lease_until > clock_timestamp() THEN p.lease_owner END,
       coalesce(greatest(extract(epoch FROM p.lease_until - clock_timestamp()), 0), 0)::float8,
       coalesce(greatest(extract(epoch FROM p.retry_after - clock_timestamp()), 0), 0)::float8
  FROM publish.destination p
  LEFT JOIN rm.destination d ON d.destination_id = p.destination_id
