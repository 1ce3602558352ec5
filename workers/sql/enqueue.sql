-- A job as River inserts it, but without its notice: workers poll.
INSERT INTO river.river_job (args, kind, queue) VALUES ($1::text::jsonb, $2, $3)
