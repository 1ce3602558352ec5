-- Up to $2 dropped objects whose files wait to be purged, behind an id.
SELECT warehouse_id, object_id, drop_event
  FROM rm.dropped
 WHERE purge_requested AND expires_at IS NULL AND object_id > $1
 ORDER BY object_id
 LIMIT $2
