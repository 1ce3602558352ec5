-- A dropped object that still holds locations, with its guard and its claims, in
-- one snapshot.
SELECT d.kind, d.object_id, d.namespace_id, d.namespace, d.name, d.table_uuid, d.metadata_location, d.purge_requested,
       d.expires_at, d.drop_root, d.purging, d.keeps_data, d.drop_event, g.version, g.pointer,
       ARRAY(SELECT c.location FROM rm.location_claim c
              WHERE c.warehouse_id = $1 AND c.branch_id = $2 AND c.object_id = d.object_id ORDER BY c.location),
       ARRAY(SELECT c.location FROM rm.location_claim c
              WHERE c.warehouse_id = $1 AND c.branch_id = $2 AND c.object_id = d.object_id AND c.vacant ORDER BY c.location)
  FROM rm.dropped d
  JOIN es.stream g ON g.stream_id = d.object_id
 WHERE d.warehouse_id = $1 AND d.branch_id = $2 AND d.object_id = $3
