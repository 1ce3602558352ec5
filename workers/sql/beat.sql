-- This process lives. What it runs of jobs that somebody wants stopped.
WITH alive AS (
    INSERT INTO ops.worker AS w (client, seen_at) VALUES ($1, clock_timestamp())
    ON CONFLICT (client) DO UPDATE SET seen_at = excluded.seen_at
)
SELECT j.id, j.metadata ? 'cancel'
  FROM river.river_job j
 WHERE j.state = 'running' AND j.attempted_by[array_upper(j.attempted_by, 1)] = $1 AND j.metadata ->> 'stop' = 'true'
