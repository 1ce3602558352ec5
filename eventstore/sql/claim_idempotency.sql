-- Takes an idempotency key, also one that expired; raises IC005 when it is
-- in use. $10 is the time by the injected clock.
WITH w AS (
    INSERT INTO es.idempotency AS i
           (principal, key, operation, digest, status, object, pointer, response, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    ON CONFLICT (principal, key) DO UPDATE
       SET operation = EXCLUDED.operation, digest = EXCLUDED.digest, status = EXCLUDED.status,
           object = EXCLUDED.object, pointer = EXCLUDED.pointer, response = EXCLUDED.response,
           expires_at = EXCLUDED.expires_at
     WHERE i.expires_at <= $10
    RETURNING 1
)
SELECT es.expect_rows((SELECT count(*) FROM w), 1, 'IC005')
