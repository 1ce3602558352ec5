-- A page of the tables and views of a warehouse that can come back, behind an id:
-- all, or those of one namespace. Ancestors are those of a namespace that stands.
SELECT d.object_id, d.kind, d.namespace, d.name, d.namespace_id, n.namespace_id IS NOT NULL, n.ancestors,
       d.dropped_at, d.expires_at, d.purge_requested, d.drop_root
  FROM rm.dropped d
  LEFT JOIN rm.namespace n ON n.namespace_id = d.namespace_id AND n.warehouse_id = $1 AND n.branch_id = $2
 WHERE d.warehouse_id = $1 AND d.branch_id = $2 AND d.expires_at IS NOT NULL AND d.object_id > $3
   AND ($4::uuid IS NULL OR d.namespace_id = $4)
 ORDER BY d.object_id
 LIMIT $5
