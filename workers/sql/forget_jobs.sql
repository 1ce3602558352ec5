-- The server's own jobs that ended some time ago, a page of them. Those that used
-- up their attempts are kept longer, for somebody to see.
DELETE FROM river.river_job WHERE id IN (
    SELECT id FROM river.river_job
     WHERE finalized_at < clock_timestamp() - $1::bigint * interval '1 microsecond'
       AND NOT args ? 'warehouse' AND kind <> $3
       AND (state <> 'discarded' OR finalized_at < clock_timestamp() - $2::bigint * interval '1 microsecond')
     ORDER BY finalized_at LIMIT $4)
