-- How many purges wait, and how long the oldest does.
SELECT count(*), coalesce(greatest(extract(epoch FROM clock_timestamp() - min(dropped_at)), 0), 0)::float8
  FROM rm.dropped
 WHERE purge_requested AND expires_at IS NULL
