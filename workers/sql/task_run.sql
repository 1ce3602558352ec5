-- Tasks that wait, or used up their attempts, run at a time, at once if it is
-- null. One that is to be stopped goes on.
UPDATE river.river_job
   SET state = CASE WHEN state = 'running' THEN state
                    WHEN $2::timestamptz > clock_timestamp() THEN 'scheduled' ELSE 'available' END::river.river_job_state,
       scheduled_at = CASE WHEN state = 'running' THEN scheduled_at ELSE coalesce($2, clock_timestamp()) END,
       max_attempts = CASE WHEN attempt >= max_attempts THEN least(attempt + $3::int, 32767)::smallint ELSE max_attempts END,
       finalized_at = NULL,
       metadata = metadata - 'stop'
 WHERE id = ANY ($1)
   AND NOT metadata ? 'cancel'
   AND (state IN ('available', 'pending', 'scheduled', 'retryable', 'discarded') OR state = 'running' AND metadata ->> 'stop' = 'true')
