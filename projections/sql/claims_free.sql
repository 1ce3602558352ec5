-- Whether nobody but one object claims a location that lies at, below or above
-- one of these.
SELECT NOT EXISTS (
       SELECT FROM unnest($1::text[], $2::text[]) AS q (lower, upper)
         JOIN rm.location_claim c ON c.covers && rm.location_range(q.lower, q.upper, '[)')
        WHERE c.object_id <> $3)
