-- Documents of living tables behind an id, with the profile of their
-- warehouse; the tables are those of the run.
SELECT d.object_id, d.warehouse_id, d.location, d.sha256, d.event_id, w.storage_profile
  FROM %s d
  JOIN %s w ON w.warehouse_id = d.warehouse_id
 WHERE d.object_id > $1
 ORDER BY d.object_id
 LIMIT $2
