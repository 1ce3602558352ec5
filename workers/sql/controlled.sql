-- Which of some jobs are tasks of a warehouse, or of a project itself.
SELECT id, kind, args::text FROM river.river_job
 WHERE id = ANY ($1) AND kind = ANY ($2)
   AND CASE WHEN $3::text IS NOT NULL THEN args ->> 'warehouse' = $3
            ELSE NOT args ? 'warehouse' AND args ->> 'project' = $4 END
