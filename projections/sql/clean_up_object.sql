-- What a clean-up of a living table or view rests on, in one snapshot. A claim that
-- has no position yet has no time. The first epoch is where the log began; any other
-- is a restore or a fail-over.
SELECT clock_timestamp(), t.kind, t.namespace_id, n.levels, t.name, g.version, g.mark, g.pointer, w.undo_window_seconds,
       (SELECT max(e.opened_at) FROM es.epoch e WHERE e.epoch > 1),
       ARRAY(SELECT c.location FROM rm.location_claim c
              WHERE c.warehouse_id = $1 AND c.branch_id = $2 AND c.object_id = t.tabular_id ORDER BY c.location),
       ARRAY(SELECT l.logtime
               FROM rm.location_claim c
               LEFT JOIN es.log_entry l ON l.stream_id = c.object_id AND l.version = c.stream_version
              WHERE c.warehouse_id = $1 AND c.branch_id = $2 AND c.object_id = t.tabular_id ORDER BY c.location)
  FROM rm.tabular t
  JOIN rm.namespace n ON n.namespace_id = t.namespace_id AND n.warehouse_id = t.warehouse_id AND n.branch_id = t.branch_id
  JOIN rm.warehouse w ON w.warehouse_id = t.warehouse_id
  JOIN es.stream g ON g.stream_id = t.tabular_id
 WHERE t.tabular_id = $3 AND t.warehouse_id = $1 AND t.branch_id = $2
