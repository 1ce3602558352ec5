-- A job for each warehouse that has something to clean up and no job for it: a
-- clean-up that has not finished, or an object that is due (see clean_due.sql).
INSERT INTO river.river_job (args, kind, queue, priority)
SELECT jsonb_build_object('warehouse', w.warehouse_id), $1, $2, 4
  FROM rm.warehouse w
 WHERE (EXISTS (SELECT FROM rm.clean_up u WHERE u.warehouse_id = w.warehouse_id)
        OR EXISTS (
           SELECT FROM rm.tabular t
             JOIN es.stream g ON g.stream_id = t.tabular_id
             LEFT JOIN ops.cleaned c ON c.object_id = t.tabular_id
            WHERE t.warehouse_id = w.warehouse_id AND t.tabular_id < $3
              AND (c.object_id IS NULL
                   OR c.cleaned_at < clock_timestamp() - $4::bigint * interval '1 microsecond' AND (c.waiting OR c.version <> g.version)
                   OR c.cleaned_at < clock_timestamp() - 30 * $4 * interval '1 microsecond')))
   AND NOT EXISTS (
       SELECT FROM river.river_job j
        WHERE j.args @> jsonb_build_object('warehouse', w.warehouse_id) AND j.kind = $1
          AND j.state IN ('available', 'pending', 'retryable', 'running', 'scheduled'))
