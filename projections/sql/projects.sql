-- Projects with their guards, by id or by the id on the wire; all of them when
-- both are null. There are few.
SELECT p.project_id, p.ident, p.name, p.authz_mark, g.version
  FROM rm.project p
  JOIN es.stream g ON g.stream_id = p.project_id
 WHERE ($1::uuid IS NULL OR p.project_id = $1)
   AND ($2::text IS NULL OR p.ident = $2)
 ORDER BY p.name COLLATE "C", p.project_id
