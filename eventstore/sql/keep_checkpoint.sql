WITH kept AS (
    INSERT INTO es.checkpoint (epoch, size, root, note, signed_at) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT DO NOTHING
    RETURNING note
)
SELECT note FROM kept UNION ALL SELECT note FROM es.checkpoint WHERE epoch = $1 AND size = $2
