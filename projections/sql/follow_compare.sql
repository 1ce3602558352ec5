-- A page of what is searched and what should be, by id. A row whose object was
-- changed behind the cursor, or has no position yet, is not settled.
SELECT x.tabular_id, t.warehouse_id, t.branch_id, n.levels, t.name, t.stream_version,
       s.warehouse_id, s.branch_id, s.trigrams, s.stream_version,
       COALESCE(e.position <= c.position, g.stream_id IS NULL AND t.tabular_id IS NULL)
  FROM (SELECT t.tabular_id FROM rm.tabular t WHERE t.tabular_id > $1
         UNION SELECT s.tabular_id FROM rm.tabular_search s WHERE s.tabular_id > $1
         ORDER BY 1 LIMIT $2) x
 CROSS JOIN ops.cursor c
  LEFT JOIN rm.tabular t ON t.tabular_id = x.tabular_id
  LEFT JOIN rm.namespace n ON n.namespace_id = t.namespace_id AND n.warehouse_id = t.warehouse_id AND n.branch_id = t.branch_id
  LEFT JOIN rm.tabular_search s ON s.tabular_id = x.tabular_id
  LEFT JOIN es.stream g ON g.stream_id = x.tabular_id
  LEFT JOIN es.log_entry e ON e.event_id = g.mark
 WHERE c.reader = $3
 ORDER BY x.tabular_id
