-- A page of the hours of warehouses, as they stand (s) and as the replay folded
-- them (f), by warehouse and hour. Not settled is what the follower may have
-- changed behind the position of the fold, or is making anew.
SELECT x.warehouse_id, x.until, s.tables, s.views, s.updated_at, s.position, f.tables, f.views, f.updated_at, f.position,
       c.position >= $4::bigint
       AND CASE WHEN s.position IS NULL THEN EXISTS (SELECT FROM rm.warehouse w WHERE w.warehouse_id = x.warehouse_id)
                ELSE s.position <= $4 OR s.position > c.position END
  FROM ((SELECT s.warehouse_id, s.until FROM rm.warehouse_statistics s
          WHERE (s.warehouse_id, s.until) > ($1::uuid, $2::timestamptz) ORDER BY s.warehouse_id, s.until LIMIT $3)
         UNION
        (SELECT f.warehouse_id, f.until FROM @folded@ f
          WHERE (f.warehouse_id, f.until) > ($1, $2) ORDER BY f.warehouse_id, f.until LIMIT $3)
         ORDER BY 1, 2 LIMIT $3) x
 CROSS JOIN ops.cursor c
  LEFT JOIN rm.warehouse_statistics s ON s.warehouse_id = x.warehouse_id AND s.until = x.until
  LEFT JOIN @folded@ f ON f.warehouse_id = x.warehouse_id AND f.until = x.until
 WHERE c.reader = $5
 ORDER BY x.warehouse_id, x.until
