-- The last position of an epoch that is over.
SELECT previous_size FROM es.epoch WHERE epoch > $1 ORDER BY epoch LIMIT 1
