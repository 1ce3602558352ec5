-- A dropped tree: its namespaces, parents first, and the tables and views that
-- were dropped with it and have not left it since, with their guards and claims,
-- in one snapshot.
SELECT 'namespace', n.namespace_id, n.namespace_id, n.levels, '', NULL::uuid, g.version, g.mark, g.pointer,
       n.parent_id, n.properties, n.purge_requested, n.expires_at, n.drop_event, ARRAY[]::text[], cardinality(n.levels)
  FROM rm.dropped_namespace n
  JOIN es.stream g ON g.stream_id = n.namespace_id
 WHERE n.drop_root = $3 AND n.warehouse_id = $1 AND n.branch_id = $2
UNION ALL
SELECT d.kind, d.object_id, d.namespace_id, d.namespace, d.name, d.table_uuid, g.version, g.mark, g.pointer,
       NULL, '', d.purge_requested, d.expires_at, d.drop_event,
       ARRAY(SELECT c.location FROM rm.location_claim c
              WHERE c.warehouse_id = $1 AND c.branch_id = $2 AND c.object_id = d.object_id ORDER BY c.location), 1000
  FROM rm.dropped d
  JOIN es.stream g ON g.stream_id = d.object_id
 WHERE d.drop_root = $3 AND d.warehouse_id = $1 AND d.branch_id = $2
 ORDER BY 16, 2
