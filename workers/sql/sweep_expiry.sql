-- Jobs for what is to expire and has none: after a restore or a rebuild. One that
-- used up its attempts is somebody's to look at and to run again, as long as it is
-- kept.
INSERT INTO river.river_job (args, kind, queue, state, scheduled_at, max_attempts)
SELECT jsonb_build_object('warehouse', d.warehouse_id, 'object', d.object_id, 'drop', d.drop_event), $1, $2, 'scheduled', d.expires_at,
       coalesce((w.queues::jsonb -> 'soft_deletion' ->> 'max-attempts')::smallint, 25)
  FROM (SELECT warehouse_id, object_id, drop_event, expires_at FROM rm.dropped
         WHERE expires_at IS NOT NULL AND drop_root IS NULL
         UNION ALL
        SELECT warehouse_id, namespace_id, drop_event, expires_at FROM rm.dropped_namespace
         WHERE namespace_id = drop_root) d
  LEFT JOIN rm.warehouse w ON w.warehouse_id = d.warehouse_id
 WHERE NOT EXISTS (
       SELECT FROM river.river_job j
        WHERE j.args @> jsonb_build_object('object', d.object_id, 'drop', d.drop_event) AND j.kind = $1
          AND j.state IN ('available', 'discarded', 'pending', 'retryable', 'running', 'scheduled'))
 ORDER BY d.object_id
 LIMIT $3
