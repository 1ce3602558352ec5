-- Parked events that are to be published again.
SELECT position, event FROM publish.parked WHERE destination_id = $1 AND retry ORDER BY position LIMIT $2
