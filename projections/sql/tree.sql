-- Up to $4 objects of a namespace's tree, in an order in which they can be
-- dropped: tables and views, then namespaces from the deepest up, the root of the
-- tree last. One snapshot. Each look-up is a lateral of its own, by what its index
-- begins with (see resolve.sql); what is not needed for the limit is not read.
WITH RECURSIVE tree AS (
       SELECT n.namespace_id, n.levels, n.protected, n.ancestors, n.properties, 1 AS depth
         FROM rm.namespace n
        WHERE n.namespace_id = $3 AND n.warehouse_id = $1 AND n.branch_id = $2
        UNION ALL
       SELECT c.namespace_id, c.levels, c.protected, c.ancestors, c.properties, t.depth + 1
         FROM tree t
        CROSS JOIN LATERAL (
              SELECT x.namespace_id, x.levels, x.protected, x.ancestors, x.properties FROM rm.namespace x
               WHERE x.parent_id = t.namespace_id AND x.warehouse_id = $1 AND x.branch_id = $2
              OFFSET 0) c
)
SELECT m.kind, m.object_id, m.namespace_id, m.levels, m.name, m.table_uuid, m.protected, g.version, g.mark, g.pointer,
       ARRAY(SELECT c.location FROM rm.location_claim c
              WHERE c.warehouse_id = $1 AND c.branch_id = $2 AND c.object_id = m.object_id ORDER BY c.location),
       m.ancestors, m.properties
  FROM ((SELECT i.kind, i.tabular_id AS object_id, t.namespace_id, t.levels, i.name, i.table_uuid, i.protected, 0 AS height,
                NULL::uuid[] AS ancestors, NULL AS properties
           FROM tree t
          CROSS JOIN LATERAL (
                SELECT x.* FROM rm.tabular x
                 WHERE x.namespace_id = t.namespace_id AND x.warehouse_id = $1 AND x.branch_id = $2
                OFFSET 0) i
          LIMIT $4)
        UNION ALL
        (SELECT 'namespace', t.namespace_id, t.namespace_id, t.levels, '', NULL, t.protected, -t.depth, t.ancestors, t.properties
           FROM tree t ORDER BY t.depth DESC LIMIT $4)) m
 CROSS JOIN LATERAL (SELECT x.version, x.mark, x.pointer FROM es.stream x WHERE x.stream_id = m.object_id OFFSET 0) g
 ORDER BY (m.kind = 'namespace'), m.height
 LIMIT $4
