-- All warehouses of a project: there are few.
SELECT w.warehouse_id, w.project_id, w.name, w.active, w.protected, w.storage_profile, w.default_format,
       w.allowed_formats, w.updated_at
  FROM rm.warehouse w
 WHERE w.project_id = $1
 ORDER BY w.name_fold1
