-- Jobs for what waits to be purged and has none: after a restore or a rebuild. One
-- that used up its attempts is somebody's to look at and to run again, as long as
-- it is kept.
INSERT INTO river.river_job (args, kind, queue, max_attempts)
SELECT jsonb_build_object('warehouse', d.warehouse_id, 'object', d.object_id, 'drop', d.drop_event), $1, $2,
       coalesce((w.queues::jsonb -> 'tabular_purge' ->> 'max-attempts')::smallint, 25)
  FROM rm.dropped d
  LEFT JOIN rm.warehouse w ON w.warehouse_id = d.warehouse_id
 WHERE d.purge_requested AND d.expires_at IS NULL
   AND NOT EXISTS (
       SELECT FROM river.river_job j
        WHERE j.args @> jsonb_build_object('object', d.object_id, 'drop', d.drop_event) AND j.kind = $1
          AND j.state IN ('available', 'discarded', 'pending', 'retryable', 'running', 'scheduled'))
 ORDER BY d.object_id
 LIMIT $3
