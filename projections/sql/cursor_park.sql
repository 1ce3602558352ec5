INSERT INTO publish.parked (destination_id, position, event, reason, parked_at)
VALUES ($1, $2, $3, 'an operator let it pass', $4)
ON CONFLICT (destination_id, position) DO UPDATE
   SET event = excluded.event, reason = excluded.reason, parked_at = excluded.parked_at, retry = false
