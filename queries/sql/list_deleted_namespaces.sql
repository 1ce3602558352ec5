-- A page of the namespaces of a warehouse that were dropped with all that stood in
-- them and can come back, behind an id. Ancestors are those of a parent that stands.
SELECT d.namespace_id, d.levels, d.parent_id, n.namespace_id IS NOT NULL, n.ancestors, d.dropped_at, d.expires_at, d.purge_requested,
       (SELECT count(*) FROM rm.dropped_namespace x WHERE x.drop_root = d.namespace_id),
       (SELECT count(*) FROM rm.dropped x WHERE x.drop_root = d.namespace_id AND x.kind = 'table'),
       (SELECT count(*) FROM rm.dropped x WHERE x.drop_root = d.namespace_id AND x.kind = 'view')
  FROM rm.dropped_namespace d
  LEFT JOIN rm.namespace n ON n.namespace_id = d.parent_id AND n.warehouse_id = $1 AND n.branch_id = $2
 WHERE d.warehouse_id = $1 AND d.branch_id = $2 AND d.namespace_id = d.drop_root AND d.namespace_id > $3
 ORDER BY d.namespace_id
 LIMIT $4
