-- resolve.sql for queries about tables and views by their path, without
-- details, in warehouses that the instance has seen: half the cost, for it is
-- the plan's size that counts. What a warehouse's mark fixes is known already,
-- its project too; a row whose mark is another one is asked for again in full.
SELECT q.ord, clock_timestamp(),
       w.mark, p.authz_mark,
       n.namespace_id, n.ancestors, n.protected,
       t.tabular_id, t.kind, t.name, t.table_uuid, t.protected, g.version, g.mark,
       CASE WHEN g.mark <> q.hint THEN g.pointer END,
       d.form, d.crc32, d.length, d.body
  FROM (SELECT $1::uuid[] AS a, $2::uuid[] AS b, $3::text[] AS c, $4::text[] AS d, $5::uuid[] AS e OFFSET 0) v
 CROSS JOIN LATERAL unnest(v.a, v.b, v.c, v.d, v.e) WITH ORDINALITY AS q (warehouse_id, project_id, path, name, hint, ord)
  LEFT JOIN es.stream w ON w.stream_id = q.warehouse_id
  LEFT JOIN rm.project p ON p.project_id = q.project_id
  LEFT JOIN rm.namespace n ON n.warehouse_id = q.warehouse_id AND n.branch_id = $6 AND n.path_fold1 = q.path
  LEFT JOIN rm.tabular t ON t.warehouse_id = q.warehouse_id AND t.branch_id = $6 AND t.namespace_id = n.namespace_id AND t.name_fold1 = q.name
  LEFT JOIN es.stream g ON g.stream_id = t.tabular_id
  LEFT JOIN LATERAL (
       SELECT x.form, x.crc32, x.length, x.body FROM cache.document x
        WHERE x.object_id = t.tabular_id AND x.mark = CASE WHEN g.mark <> q.hint THEN g.mark END
       OFFSET 0) d ON true
