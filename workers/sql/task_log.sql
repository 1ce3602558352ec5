-- Finished tasks of a project, of its warehouses, and with the default project of
-- warehouses that are no more, whose time is over. $1 project, $2 the kind of the
-- project's own tasks, $3 the default project, $4 seconds unless the project says
-- otherwise, $5 page.
WITH over AS (
    SELECT clock_timestamp() - coalesce((p.queues::jsonb -> 'task_log_cleanup' ->> 'retention-seconds')::bigint, $4::bigint) * interval '1 second' AS since
      FROM rm.project p WHERE p.project_id = $1
), old AS (
    SELECT j.id FROM rm.warehouse w
      JOIN river.river_job j ON j.args ->> 'warehouse' = w.warehouse_id::text AND j.args ? 'warehouse'
     WHERE w.project_id = $1 AND j.finalized_at < (SELECT since FROM over)
    UNION ALL
    SELECT j.id FROM river.river_job j
     WHERE j.args @> jsonb_build_object('project', $1::uuid) AND j.kind = $2 AND j.finalized_at < (SELECT since FROM over)
    UNION ALL
    SELECT j.id FROM river.river_job j
     WHERE $1 = $3 AND j.args ? 'warehouse' AND j.finalized_at < (SELECT since FROM over)
       AND NOT EXISTS (SELECT FROM rm.warehouse w WHERE w.warehouse_id::text = j.args ->> 'warehouse')
)
DELETE FROM river.river_job WHERE id IN (SELECT id FROM old LIMIT $5)
