-- All warehouses of a project: there are few.
SELECT w.warehouse_id, p.ident, w.name, w.active, w.protected, w.storage_profile, w.default_format,
       w.allowed_formats, w.updated_at, w.expiration_seconds, w.undo_window_seconds
  FROM rm.warehouse w
  JOIN rm.project p ON p.project_id = w.project_id
 WHERE w.project_id = $1
 ORDER BY w.name_fold1
