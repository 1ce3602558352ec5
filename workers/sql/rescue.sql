-- Jobs of processes that have fallen silent go on elsewhere, at once: one attempt
-- is spent, so that a job that ends its process does not do so for ever. Who comes
-- second finds them as they are now; a job that has ended meanwhile stays ended.
-- So do jobs that this process ($2) is said to run and does not ($3): the database
-- forgot their end, by a fail-over or a restore. A warehouse may have its own wait
-- longer.
UPDATE river.river_job j
   SET state = CASE WHEN j.metadata ? 'cancel_attempted_at' THEN 'cancelled'
                    WHEN j.attempt >= j.max_attempts THEN 'discarded'
                    ELSE 'available' END::river.river_job_state,
       finalized_at = CASE WHEN j.metadata ? 'cancel_attempted_at' OR j.attempt >= j.max_attempts THEN clock_timestamp() END,
       scheduled_at = clock_timestamp(),
       metadata = j.metadata - 'stop',
       errors = array_append(j.errors, jsonb_build_object(
           'at', clock_timestamp(), 'attempt', j.attempt, 'error', 'The process that ran the job has ended.', 'trace', ''))
 WHERE j.state = 'running'
   AND j.attempted_at < clock_timestamp() - $1::bigint * interval '1 microsecond'
   AND (NOT EXISTS (
           SELECT FROM ops.worker w
            WHERE w.client = j.attempted_by[array_upper(j.attempted_by, 1)]
              AND w.seen_at > clock_timestamp() - greatest($1::bigint * interval '1 microsecond', coalesce((
                  SELECT (q.queues::jsonb -> CASE j.kind WHEN 'purge' THEN 'tabular_purge' WHEN 'expire' THEN 'soft_deletion' END
                            ->> 'max-seconds-since-last-heartbeat')::bigint * interval '1 second'
                    FROM rm.warehouse q
                   WHERE q.warehouse_id = (j.args ->> 'warehouse')::uuid), interval '0')))
        OR j.attempted_by[array_upper(j.attempted_by, 1)] = $2 AND j.id <> ALL ($3::bigint[]))
RETURNING j.id, j.kind, j.state = 'discarded'
