-- resolve.sql for calls in which a query names an object by its id instead of
-- its path: the same columns. One row for each query, in one snapshot. Keys that are not asked for are
-- empty or null, which an index look-up answers without reading anything. What
-- is fixed by a mark that the instance has seen, or was not asked for, is left
-- out of the answer. OFFSET 0 hides the arrays' lengths from the planner: it
-- would take a plan for each length to be worth making, which costs ten times
-- what running it does. In the laterals it keeps each look-up by its whole key: a
-- plan made while tables are small or their statistics young would join them by
-- half a key, and so read the whole warehouse for each request.
SELECT q.ord, clock_timestamp(),
       s.server_id,
       p.project_id, p.authz_mark, CASE WHEN q.details THEN p.name END,
       w.warehouse_id, w.version, w.mark,
       CASE WHEN w.fresh THEN w.name END, CASE WHEN w.fresh THEN w.active END, CASE WHEN w.fresh THEN w.protected END,
       CASE WHEN w.fresh THEN w.storage_profile END, CASE WHEN w.fresh THEN w.default_format END,
       CASE WHEN w.fresh THEN w.allowed_formats END, CASE WHEN w.fresh THEN w.updated_at END, CASE WHEN w.fresh THEN w.expiration_seconds END,
       n.namespace_id, n.ancestors, n.protected, gn.version, gn.mark,
       CASE WHEN q.details THEN n.levels END, CASE WHEN q.details THEN n.properties END,
       u.namespace_id, u.ancestors,
       t.tabular_id, t.kind, t.name, t.table_uuid, t.protected, gt.version, gt.mark,
       CASE WHEN gt.mark <> q.hint THEN gt.pointer END,
       d.form, d.crc32, d.length, d.body
  FROM (SELECT $1::uuid[] AS a, $2::uuid[] AS b, $3::text[] AS c, $4::text[] AS d, $5::text[] AS e, $6::text[] AS f, $7::uuid[] AS g, $8::uuid[] AS h, $9::boolean[] AS i, $11::uuid[] AS j OFFSET 0) v
 CROSS JOIN LATERAL unnest(v.a, v.b, v.c, v.d, v.e, v.f, v.g, v.h, v.i, v.j) WITH ORDINALITY
       AS q (warehouse_id, project_id, warehouse_name, path, parent, name, hint, warehouse_hint, details, object_id, ord)
  LEFT JOIN rm.server s ON true
  LEFT JOIN LATERAL (
       SELECT x.*, g.version, g.mark, g.mark <> q.warehouse_hint AS fresh
         FROM rm.warehouse x JOIN es.stream g ON g.stream_id = x.warehouse_id
        WHERE x.warehouse_id = CASE WHEN q.warehouse_name = '' THEN q.warehouse_id ELSE (
              SELECT i.warehouse_id FROM rm.warehouse i WHERE i.project_id = q.project_id AND i.name_fold1 = q.warehouse_name) END
       OFFSET 0) w ON true
  LEFT JOIN LATERAL (
       SELECT x.project_id, x.authz_mark, x.name FROM rm.project x
        WHERE x.project_id = COALESCE(w.project_id, q.project_id)
       OFFSET 0) p ON true
  LEFT JOIN LATERAL (
       SELECT x.tabular_id, x.namespace_id FROM rm.tabular x
        WHERE x.warehouse_id = q.warehouse_id AND x.branch_id = $10 AND x.tabular_id = q.object_id
       OFFSET 0) o ON true
  LEFT JOIN LATERAL (
       SELECT x.namespace_id FROM rm.namespace x
        WHERE x.warehouse_id = q.warehouse_id AND x.branch_id = $10 AND x.path_fold1 = q.path
       OFFSET 0) b ON true
  LEFT JOIN LATERAL (
       SELECT x.namespace_id, x.ancestors, x.protected, x.levels, x.properties FROM rm.namespace x
        WHERE x.warehouse_id = q.warehouse_id AND x.branch_id = $10
          AND x.namespace_id = COALESCE(b.namespace_id, o.namespace_id, q.object_id)
       OFFSET 0) n ON true
  LEFT JOIN LATERAL (
       SELECT x.version, x.mark FROM es.stream x WHERE x.stream_id = CASE WHEN q.details THEN n.namespace_id END
       OFFSET 0) gn ON true
  LEFT JOIN LATERAL (
       SELECT x.namespace_id, x.ancestors FROM rm.namespace x
        WHERE x.warehouse_id = q.warehouse_id AND x.branch_id = $10
          AND x.path_fold1 = CASE WHEN n.namespace_id IS NULL THEN q.parent END
       OFFSET 0) u ON true
  LEFT JOIN LATERAL (
       SELECT x.tabular_id, x.kind, x.name, x.table_uuid, x.protected FROM rm.tabular x
        WHERE x.warehouse_id = q.warehouse_id AND x.branch_id = $10 AND x.tabular_id = COALESCE(o.tabular_id, (
              SELECT i.tabular_id FROM rm.tabular i WHERE i.warehouse_id = q.warehouse_id AND i.branch_id = $10
                 AND i.namespace_id = n.namespace_id AND i.name_fold1 = q.name))
       OFFSET 0) t ON true
  LEFT JOIN LATERAL (
       SELECT x.version, x.mark, x.pointer FROM es.stream x WHERE x.stream_id = t.tabular_id
       OFFSET 0) gt ON true
  LEFT JOIN LATERAL (
       SELECT x.form, x.crc32, x.length, x.body FROM cache.document x
        WHERE x.object_id = t.tabular_id AND x.mark = CASE WHEN gt.mark <> q.hint THEN gt.mark END
       OFFSET 0) d ON true
