-- $3 is the time by the injected clock.
SELECT operation, digest, status, object, pointer, response, expires_at
  FROM es.idempotency
 WHERE principal = $1 AND key = $2 AND expires_at > $3
