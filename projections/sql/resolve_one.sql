-- resolve_lean.sql for a request that goes alone: without arrays, a plan of
-- two thirds the cost.
SELECT clock_timestamp(), w.mark, p.authz_mark,
       n.namespace_id, n.ancestors, n.protected, CASE WHEN $7::boolean THEN n.levels END,
       t.tabular_id, t.kind, t.name, t.table_uuid, t.protected, g.version, g.mark,
       CASE WHEN g.mark <> $5::uuid THEN g.pointer END,
       d.form, d.crc32, d.length, d.body
  FROM (SELECT x.mark FROM es.stream x WHERE x.stream_id = $1::uuid OFFSET 0) w
  LEFT JOIN LATERAL (SELECT x.authz_mark FROM rm.project x WHERE x.project_id = $2::uuid OFFSET 0) p ON true
  LEFT JOIN LATERAL (
       SELECT x.namespace_id, x.ancestors, x.protected, x.levels FROM rm.namespace x
        WHERE x.warehouse_id = $1 AND x.branch_id = $6::uuid AND x.path_fold1 = $3
       OFFSET 0) n ON true
  LEFT JOIN LATERAL (
       SELECT x.tabular_id, x.kind, x.name, x.table_uuid, x.protected FROM rm.tabular x
        WHERE x.warehouse_id = $1 AND x.branch_id = $6 AND x.namespace_id = n.namespace_id AND x.name_fold1 = $4
       OFFSET 0) t ON true
  LEFT JOIN LATERAL (SELECT x.version, x.mark, x.pointer FROM es.stream x WHERE x.stream_id = t.tabular_id OFFSET 0) g ON true
  LEFT JOIN LATERAL (
       SELECT x.form, x.crc32, x.length, x.body FROM cache.document x
        WHERE x.object_id = t.tabular_id AND x.mark = CASE WHEN g.mark <> $5 THEN g.mark END
       OFFSET 0) d ON true
