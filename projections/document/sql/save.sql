INSERT INTO cache.document (object_id, mark, form, crc32, length, body, saved_at)
VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp())
ON CONFLICT (object_id, mark) DO NOTHING
