-- What was asked about a project in the hours that ended behind one time and up
-- to another, newest hour first: about all warehouses, one, or none. A page goes
-- on behind the row of a key, if there is one. Names are those of now.
SELECT s.until, s.route, s.status, s.requests, s.warehouse_id, w.name, s.created_at, s.updated_at
  FROM ops.endpoint_statistics s
  LEFT JOIN rm.warehouse w ON w.warehouse_id = s.warehouse_id
 WHERE s.project_id = $1 AND s.until > $2 AND s.until <= $3
   AND ($4::uuid IS NULL OR s.warehouse_id = $4)
   AND (NOT $5::boolean OR s.warehouse_id IS NULL)
   AND ($6::smallint[] IS NULL OR s.status = ANY ($6))
   AND ($7::timestamptz IS NULL
        OR (s.until, COALESCE(s.warehouse_id, '00000000-0000-0000-0000-000000000000'), s.route COLLATE "C", s.status) < ($7, $8::uuid, $9::text COLLATE "C", $10::smallint))
 ORDER BY s.until DESC, COALESCE(s.warehouse_id, '00000000-0000-0000-0000-000000000000') DESC, s.route COLLATE "C" DESC, s.status DESC
 LIMIT $11
