-- Settings of the queues of a warehouse or a project.
SELECT coalesce((SELECT queues FROM rm.warehouse WHERE warehouse_id = $1), (SELECT queues FROM rm.project WHERE project_id = $1), '')
