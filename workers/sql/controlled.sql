-- Which of some jobs are tasks of a warehouse, or of a project itself, whether they
-- are still to end, and what kind of object they are about.
SELECT j.id, j.kind, j.args::text, j.finalized_at IS NULL OR j.state = 'discarded', coalesce(s.stream_type, '')
  FROM river.river_job j
  LEFT JOIN es.stream s ON s.stream_id = (j.args ->> 'object')::uuid
 WHERE j.id = ANY ($1) AND j.kind = ANY ($2)
   AND CASE WHEN $3::text IS NOT NULL THEN j.args ->> 'warehouse' = $3
            ELSE NOT j.args ? 'warehouse' AND j.args ->> 'project' = $4 END
