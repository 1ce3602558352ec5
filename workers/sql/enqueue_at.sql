-- A job for later, as River inserts it, but without its notice: workers poll.
-- How often it is tried is the warehouse's to say; 25 is River's own number.
INSERT INTO river.river_job (args, kind, queue, state, scheduled_at, max_attempts)
SELECT a.args, $2, $3, 'scheduled', $4, coalesce((
       SELECT (w.queues::jsonb -> 'soft_deletion' ->> 'max-attempts')::smallint
         FROM rm.warehouse w
        WHERE w.warehouse_id = (a.args ->> 'warehouse')::uuid), 25)
  FROM (SELECT $1::text::jsonb AS args) a
