-- Processes that have ended long ago.
DELETE FROM ops.worker WHERE seen_at < clock_timestamp() - interval '1 day'
