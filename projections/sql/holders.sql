-- Objects that claim a location at, below or above one of these, over all
-- warehouses of the store.
SELECT DISTINCT c.warehouse_id, c.object_id
  FROM unnest($1::text[], $2::text[]) AS q (lower, upper)
  JOIN rm.location_claim c ON c.covers && rm.location_range(q.lower, q.upper, '[)')
 LIMIT $3
