-- Versions that were superseded a while ago go with the next one; nobody's
-- load waits for the sweeper behind a busy table.
WITH gone AS (
    DELETE FROM cache.document
     WHERE object_id = $1 AND mark <> $2 AND saved_at < clock_timestamp() - interval '1 minute'
)
INSERT INTO cache.document (object_id, mark, form, crc32, length, body, saved_at)
VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp())
ON CONFLICT (object_id, mark) DO NOTHING
