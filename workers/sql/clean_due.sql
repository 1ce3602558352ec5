-- Living tables and views of a warehouse behind an id whose files are to be looked
-- at: those that never were; those that have changed since, or had files that may go
-- later, after one interval; all others after thirty. What was made after the bound
-- has no file that is old enough.
SELECT t.tabular_id, g.version, c.known_until
  FROM rm.tabular t
  JOIN es.stream g ON g.stream_id = t.tabular_id
  LEFT JOIN ops.cleaned c ON c.object_id = t.tabular_id
 WHERE t.warehouse_id = $1 AND t.branch_id = $2 AND t.tabular_id > $3 AND t.tabular_id < $4
   AND (c.object_id IS NULL
        OR c.cleaned_at < clock_timestamp() - $5::bigint * interval '1 microsecond' AND (c.waiting OR c.version <> g.version)
        OR c.cleaned_at < clock_timestamp() - 30 * $5 * interval '1 microsecond')
 ORDER BY t.tabular_id
 LIMIT $6
