-- Jobs for what waits to be purged and has none: after a restore, a rebuild, or
-- when a job was given up.
INSERT INTO river.river_job (args, kind, queue)
SELECT jsonb_build_object('warehouse', d.warehouse_id, 'object', d.object_id, 'drop', d.drop_event), $1, $2
  FROM rm.dropped d
 WHERE d.purge_requested AND d.expires_at IS NULL
   AND NOT EXISTS (
       SELECT FROM river.river_job j
        WHERE j.args @> jsonb_build_object('drop', d.drop_event) AND j.kind = $1
          AND j.state IN ('available', 'pending', 'retryable', 'running', 'scheduled'))
 ORDER BY d.object_id
 LIMIT $3
