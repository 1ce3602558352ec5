-- How far a running job has come, for whoever looks.
UPDATE river.river_job SET metadata = metadata || jsonb_build_object('progress', $2::text::jsonb)
 WHERE id = $1 AND state = 'running'
