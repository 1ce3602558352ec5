-- One page of expired keys; SKIP LOCKED stays out of the way of commits that
-- take such a key again. $1 now by the injected clock, $2 page size.
DELETE FROM es.idempotency i
 USING (SELECT principal, key FROM es.idempotency
         WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED) dead
 WHERE i.principal = dead.principal AND i.key = dead.key
