-- Runs that somebody wants stopped: the process that has one hears of it at its
-- next sign of life.
UPDATE river.river_job SET metadata = metadata || '{"stop": true}' WHERE id = ANY ($1) AND state = 'running'
