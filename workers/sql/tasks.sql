-- Tasks, newest first. The name is that of the dropped object, else of the living
-- one that came back, else what the event of the drop says.
SELECT j.id, j.kind, j.args::text, t.status, j.attempt::int, j.created_at, j.scheduled_at, j.attempted_at, w.seen_at, j.finalized_at,
       coalesce((j.metadata -> 'progress' ->> 'done')::bigint, 0), coalesce((j.metadata -> 'progress' ->> 'total')::bigint, 0),
       coalesce(to_jsonb(j.errors)::text, '[]'),
       coalesce(p.ident, ''), coalesce(s.stream_type, ''),
       coalesce(
           (SELECT d.namespace || d.name FROM rm.dropped d
             WHERE d.warehouse_id = a.warehouse AND d.branch_id = $1 AND d.object_id = a.object),
           (SELECT n.levels || b.name FROM rm.tabular b
              JOIN rm.namespace n ON n.warehouse_id = b.warehouse_id AND n.branch_id = b.branch_id AND n.namespace_id = b.namespace_id
             WHERE b.warehouse_id = a.warehouse AND b.branch_id = $1 AND b.tabular_id = a.object),
           (SELECT array_remove(array(SELECT jsonb_array_elements_text(convert_from(e.data, 'UTF8')::jsonb -> 'namespace'))
                   || (convert_from(e.data, 'UTF8')::jsonb ->> 'name'), NULL)
              FROM es.log_entry l
              JOIN es.event e ON e.append_seq = l.append_seq AND e.ordinal = l.ordinal
             WHERE l.event_id = a.dropped))
  FROM river.river_job j
 CROSS JOIN LATERAL (
       SELECT (j.args ->> 'warehouse')::uuid AS warehouse, (j.args ->> 'project')::uuid AS project,
              (j.args ->> 'object')::uuid AS object, (j.args ->> 'drop')::uuid AS dropped) a
 CROSS JOIN LATERAL (
       SELECT CASE
              WHEN j.state = 'completed' THEN 'SUCCESS'
              WHEN j.state = 'cancelled' THEN 'CANCELLED'
              WHEN j.state = 'discarded' THEN 'FAILED'
              WHEN j.metadata ? 'cancel' THEN 'STOPPING'
              WHEN j.state = 'running' AND (j.metadata ->> 'stop' = 'true' OR j.metadata ? 'cancel_attempted_at') THEN 'STOPPING'
              WHEN j.state = 'running' THEN 'RUNNING'
              ELSE 'SCHEDULED' END AS status) t
  LEFT JOIN ops.worker w ON j.state = 'running' AND w.client = j.attempted_by[array_upper(j.attempted_by, 1)]
  LEFT JOIN es.stream s ON s.stream_id = a.object
  LEFT JOIN rm.warehouse h ON h.warehouse_id = a.warehouse
  LEFT JOIN rm.project p ON p.project_id = coalesce(h.project_id, a.project)
 WHERE TRUE /* scope */
   AND j.kind = ANY ($3)
   AND ($4::text[] IS NULL OR t.status = ANY ($4))
   AND ($5::timestamptz IS NULL OR j.created_at > $5)
   AND ($6::timestamptz IS NULL OR j.created_at < $6)
   AND ($7::text[] IS NULL AND NOT $10 OR j.args ->> 'object' = ANY ($7) OR $10 AND a.object IS NULL)
   AND ($8::bigint IS NULL OR j.id < $8)
   AND ($9::bigint IS NULL OR j.id = $9)
 ORDER BY j.id DESC
 LIMIT $11
