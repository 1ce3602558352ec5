-- resolve.sql for queries about tables and views by their path, without
-- details, in warehouses that the instance has seen: half the cost, for it is
-- the plan's size that counts. What a warehouse's mark fixes is known already,
-- its project too; a row whose mark is another one is asked for again in full.
-- Each look-up is a lateral of its own, as in resolve.sql.
SELECT q.ord, clock_timestamp(),
       w.mark, p.authz_mark,
       n.namespace_id, n.ancestors, n.protected, CASE WHEN q.spelling THEN n.levels END,
       t.tabular_id, t.kind, t.name, t.table_uuid, t.protected, g.version, g.mark,
       CASE WHEN g.mark <> q.hint THEN g.pointer END,
       d.form, d.crc32, d.length, d.body
  FROM (SELECT $1::uuid[] AS a, $2::uuid[] AS b, $3::text[] AS c, $4::text[] AS d, $5::uuid[] AS e, $7::boolean[] AS f OFFSET 0) v
 CROSS JOIN LATERAL unnest(v.a, v.b, v.c, v.d, v.e, v.f) WITH ORDINALITY
       AS q (warehouse_id, project_id, path, name, hint, spelling, ord)
  LEFT JOIN LATERAL (SELECT x.mark FROM es.stream x WHERE x.stream_id = q.warehouse_id OFFSET 0) w ON true
  LEFT JOIN LATERAL (SELECT x.authz_mark FROM rm.project x WHERE x.project_id = q.project_id OFFSET 0) p ON true
  LEFT JOIN LATERAL (
       SELECT x.namespace_id, x.ancestors, x.protected, x.levels FROM rm.namespace x
        WHERE x.warehouse_id = q.warehouse_id AND x.branch_id = $6 AND x.path_fold1 = q.path
       OFFSET 0) n ON true
  LEFT JOIN LATERAL (
       SELECT x.tabular_id, x.kind, x.name, x.table_uuid, x.protected FROM rm.tabular x
        WHERE x.warehouse_id = q.warehouse_id AND x.branch_id = $6 AND x.namespace_id = n.namespace_id AND x.name_fold1 = q.name
       OFFSET 0) t ON true
  LEFT JOIN LATERAL (SELECT x.version, x.mark, x.pointer FROM es.stream x WHERE x.stream_id = t.tabular_id OFFSET 0) g ON true
  LEFT JOIN LATERAL (
       SELECT x.form, x.crc32, x.length, x.body FROM cache.document x
        WHERE x.object_id = t.tabular_id AND x.mark = CASE WHEN g.mark <> q.hint THEN g.mark END
       OFFSET 0) d ON true
