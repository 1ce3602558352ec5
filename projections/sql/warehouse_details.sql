-- What a warehouse is beside what Resolve says of it: whether namespaces stand
-- in it, and whether objects of it, perhaps dropped, still hold locations or can
-- come back, or files of it are being deleted.
SELECT p.ident, w.expiration_seconds, w.undo_window_seconds,
       EXISTS (SELECT FROM rm.namespace n WHERE n.warehouse_id = w.warehouse_id),
       EXISTS (SELECT FROM rm.location_claim c WHERE c.warehouse_id = w.warehouse_id)
       OR EXISTS (SELECT FROM rm.clean_up c WHERE c.warehouse_id = w.warehouse_id)
       OR EXISTS (SELECT FROM rm.dropped_namespace d WHERE d.warehouse_id = w.warehouse_id)
  FROM rm.warehouse w
  JOIN rm.project p ON p.project_id = w.project_id
 WHERE w.warehouse_id = $1
