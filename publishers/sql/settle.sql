-- Transaction 2: how a batch ended. The place moves only while the lease is ours
-- and the place is where we took it; no row otherwise. With an error, $10, the
-- lease is given up and nobody tries before $9 microseconds are over; with $11
-- the destination halts. $12 to $14 is an event that is put aside. A move that a
-- crash of the database undoes is made again, so nobody waits for the disk.
WITH quick AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true)
), settled AS (
    UPDATE publish.destination p
       SET epoch = $4, position = $5, event = $6, published = published + $7, failures = $8,
           retry_after = clock_timestamp() + $9::bigint * interval '1 microsecond',
           last_error = coalesce($10, last_error),
           last_error_at = CASE WHEN $10::text IS NULL THEN last_error_at ELSE clock_timestamp() END,
           halted_at = $11,
           lease_owner = CASE WHEN $10::text IS NULL OR $12::bigint IS NOT NULL THEN lease_owner END,
           lease_until = CASE WHEN $10::text IS NULL OR $12::bigint IS NOT NULL THEN clock_timestamp() + $15::bigint * interval '1 microsecond' END
      FROM quick
     WHERE destination_id = $1 AND lease_owner = $2 AND position = $3 AND lease_until > clock_timestamp() AND halted_at IS NULL
    RETURNING p.destination_id
), parked AS (
    INSERT INTO publish.parked (destination_id, position, event, reason, parked_at)
    SELECT destination_id, $12, $13, $14, clock_timestamp() FROM settled WHERE $12::bigint IS NOT NULL
    ON CONFLICT (destination_id, position) DO UPDATE
       SET event = excluded.event, reason = excluded.reason, parked_at = excluded.parked_at, retry = false
)
SELECT coalesce((SELECT d.stream_version FROM rm.destination d WHERE d.destination_id = $1 AND NOT d.paused), 0),
       (SELECT size FROM es.log_head)
  FROM settled
