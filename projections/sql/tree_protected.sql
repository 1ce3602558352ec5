-- Whether a namespace below this one is protected, and whether a table or view
-- in its tree is.
WITH RECURSIVE tree AS (
       SELECT n.namespace_id, n.protected, 1 AS depth
         FROM rm.namespace n
        WHERE n.namespace_id = $3 AND n.warehouse_id = $1 AND n.branch_id = $2
        UNION ALL
       SELECT c.namespace_id, c.protected, t.depth + 1
         FROM tree t
        CROSS JOIN LATERAL (
              SELECT x.namespace_id, x.protected FROM rm.namespace x
               WHERE x.parent_id = t.namespace_id AND x.warehouse_id = $1 AND x.branch_id = $2
              OFFSET 0) c
)
SELECT EXISTS (SELECT FROM tree WHERE protected AND depth > 1),
       EXISTS (SELECT FROM tree t
                CROSS JOIN LATERAL (
                      SELECT x.protected FROM rm.tabular x
                       WHERE x.namespace_id = t.namespace_id AND x.warehouse_id = $1 AND x.branch_id = $2
                      OFFSET 0) i
                WHERE i.protected)
