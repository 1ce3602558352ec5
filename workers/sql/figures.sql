-- What is due and waits, by kind, since when the first of it does, what runs, and
-- what used up its attempts. What is for later is not counted: it may be a lot, and
-- becomes due within seconds of its time.
SELECT kind,
       count(*) FILTER (WHERE state IN ('available', 'retryable')),
       coalesce(greatest(extract(epoch FROM clock_timestamp() - min(created_at) FILTER (WHERE state = 'retryable')),
                         extract(epoch FROM clock_timestamp() - min(scheduled_at) FILTER (WHERE state = 'available')), 0), 0)::float8,
       count(*) FILTER (WHERE state = 'running'),
       count(*) FILTER (WHERE state = 'discarded')
  FROM river.river_job
 WHERE state IN ('available', 'retryable', 'running', 'discarded')
 GROUP BY kind
