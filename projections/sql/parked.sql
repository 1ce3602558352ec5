-- What a destination refused for good, by position, after one.
SELECT position, event, reason, parked_at, retry
  FROM publish.parked
 WHERE destination_id = $1 AND position > $2
 ORDER BY position
 LIMIT $3
