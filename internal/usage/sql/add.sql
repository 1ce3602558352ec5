-- Adds counters to those of the hour. A request about a warehouse belongs to
-- its project, whatever its header says; one that names neither a warehouse nor
-- a project that exists belongs nowhere. Rows in one order, for instances add at
-- the same moment.
INSERT INTO ops.endpoint_statistics (until, project_id, warehouse_id, route, status, requests, created_at)
SELECT $1, COALESCE(w.project_id, p.project_id), w.warehouse_id, q.route, q.status, sum(q.requests)::bigint, $2
  FROM unnest($3::uuid[], $4::text[], $5::text[], $6::smallint[], $7::bigint[]) AS q (warehouse_id, project, route, status, requests)
  LEFT JOIN rm.warehouse w ON w.warehouse_id = q.warehouse_id
  LEFT JOIN rm.project p ON p.ident = q.project
 WHERE COALESCE(w.project_id, p.project_id) IS NOT NULL
 GROUP BY 2, 3, 4, 5
 ORDER BY 2, 3, 4, 5
ON CONFLICT ON CONSTRAINT endpoint_statistics_key DO UPDATE
   SET requests = ops.endpoint_statistics.requests + excluded.requests, updated_at = excluded.created_at
