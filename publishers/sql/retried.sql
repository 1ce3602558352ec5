-- A parked event was taken, and is what was published last; or, with a reason,
-- was refused again and waits for another decision. No row if the lease is not ours.
WITH settled AS (
    UPDATE publish.destination p
       SET event = CASE WHEN $6::text IS NULL THEN $5 ELSE event END,
           published = published + CASE WHEN $6::text IS NULL THEN 1 ELSE 0 END,
           lease_until = clock_timestamp() + $7::bigint * interval '1 microsecond'
     WHERE destination_id = $1 AND lease_owner = $2 AND position = $3 AND lease_until > clock_timestamp()
    RETURNING p.destination_id
), taken AS (
    DELETE FROM publish.parked k USING settled s
     WHERE k.destination_id = s.destination_id AND k.position = $4 AND k.event = $5 AND $6::text IS NULL
), again AS (
    UPDATE publish.parked k SET retry = false, reason = $6, parked_at = clock_timestamp() FROM settled s
     WHERE k.destination_id = s.destination_id AND k.position = $4 AND k.event = $5 AND $6::text IS NOT NULL
)
SELECT destination_id FROM settled
