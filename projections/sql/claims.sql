-- The claims of an object and the mark of the state they belong to, in one
-- snapshot. An object without a claim gives one row without a location.
SELECT g.mark, c.location
  FROM es.stream g
  LEFT JOIN rm.location_claim c ON c.warehouse_id = $1 AND c.branch_id = $2 AND c.object_id = g.stream_id
 WHERE g.stream_id = $3
 ORDER BY c.location
