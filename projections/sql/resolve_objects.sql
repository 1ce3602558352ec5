-- resolve.sql for calls in which a query names an object by its id instead of
-- its path: the same columns. One row for each query, in one snapshot. Keys that are not asked for are
-- empty or null, which an index look-up answers without reading anything. What
-- is fixed by a mark that the instance has seen, or was not asked for, is left
-- out of the answer.
SELECT q.ord, clock_timestamp(),
       s.server_id,
       p.project_id, p.authz_mark, CASE WHEN q.details THEN p.name END,
       w.warehouse_id, gw.version, gw.mark,
       CASE WHEN f.fresh THEN w.name END, CASE WHEN f.fresh THEN w.active END, CASE WHEN f.fresh THEN w.protected END,
       CASE WHEN f.fresh THEN w.storage_profile END, CASE WHEN f.fresh THEN w.default_format END,
       CASE WHEN f.fresh THEN w.allowed_formats END, CASE WHEN f.fresh THEN w.updated_at END,
       n.namespace_id, n.ancestors, n.protected, gn.version, gn.mark,
       CASE WHEN q.details THEN n.levels END, CASE WHEN q.details THEN n.properties END,
       u.namespace_id, u.ancestors,
       t.tabular_id, t.kind, t.name, t.table_uuid, t.protected, gt.version, gt.mark,
       CASE WHEN gt.mark <> q.hint THEN gt.pointer END,
       d.form, d.crc32, d.length, d.body
  FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::uuid[], $8::uuid[], $9::boolean[], $11::uuid[])
       WITH ORDINALITY AS q (warehouse_id, project_id, warehouse_name, path, parent, name, hint, warehouse_hint, details, object_id, ord)
  LEFT JOIN rm.server s ON true
  LEFT JOIN rm.warehouse w ON w.warehouse_id = CASE WHEN q.warehouse_name = '' THEN q.warehouse_id ELSE (
       SELECT i.warehouse_id FROM rm.warehouse i WHERE i.project_id = q.project_id AND i.name_fold1 = q.warehouse_name) END
  LEFT JOIN es.stream gw ON gw.stream_id = w.warehouse_id
  LEFT JOIN LATERAL (SELECT gw.mark <> q.warehouse_hint) AS f (fresh) ON true
  LEFT JOIN rm.project p ON p.project_id = COALESCE(w.project_id, q.project_id)
  LEFT JOIN rm.tabular o ON o.warehouse_id = w.warehouse_id AND o.branch_id = $10 AND o.tabular_id = q.object_id
  LEFT JOIN rm.namespace b ON b.warehouse_id = w.warehouse_id AND b.branch_id = $10 AND b.path_fold1 = q.path
  LEFT JOIN rm.namespace n ON n.warehouse_id = w.warehouse_id AND n.branch_id = $10
       AND n.namespace_id = COALESCE(b.namespace_id, o.namespace_id, q.object_id)
  LEFT JOIN es.stream gn ON gn.stream_id = CASE WHEN q.details THEN n.namespace_id END
  LEFT JOIN rm.namespace u ON u.warehouse_id = w.warehouse_id AND u.branch_id = $10
       AND u.path_fold1 = CASE WHEN n.namespace_id IS NULL THEN q.parent END
  LEFT JOIN rm.tabular t ON t.warehouse_id = w.warehouse_id AND t.branch_id = $10 AND t.tabular_id = COALESCE(o.tabular_id, (
       SELECT i.tabular_id FROM rm.tabular i WHERE i.warehouse_id = w.warehouse_id AND i.branch_id = $10
          AND i.namespace_id = n.namespace_id AND i.name_fold1 = q.name))
  LEFT JOIN es.stream gt ON gt.stream_id = t.tabular_id
  LEFT JOIN cache.document d ON d.object_id = t.tabular_id AND d.mark = CASE WHEN gt.mark <> q.hint THEN gt.mark END
