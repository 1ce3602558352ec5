-- A clean-up of its finished tasks for each project that had none for its period,
-- a day unless it says otherwise.
INSERT INTO river.river_job (args, kind, queue, max_attempts)
SELECT jsonb_build_object('project', p.project_id), $1, $2, $3
  FROM rm.project p
 WHERE NOT EXISTS (
       SELECT FROM river.river_job j
        WHERE j.args @> jsonb_build_object('project', p.project_id) AND j.kind = $1
          AND (j.finalized_at IS NULL OR j.finalized_at > clock_timestamp()
               - coalesce((p.queues::jsonb -> 'task_log_cleanup' ->> 'cleanup-seconds')::bigint, 86400) * interval '1 second'))
