-- Who works on jobs (design section 6): a process that runs jobs says here that
-- it lives, by this database's clock. What a process ran that has fallen silent
-- is taken up by others. Operational: rows of processes that ended are forgotten.
CREATE TABLE ops.worker (
    client  text        NOT NULL, -- as in river_job.attempted_by
    seen_at timestamptz NOT NULL,
    CONSTRAINT worker_pkey PRIMARY KEY (client)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON ops.worker TO :app;

-- The jobs of a warehouse, newest first: what the tasks of the management API
-- are. Jobs without a warehouse are the server's own.
CREATE INDEX icecore_job_of_warehouse ON river.river_job ((args ->> 'warehouse'), id) WHERE args ? 'warehouse';

-- The server's own jobs that have ended are forgotten soon, those of warehouses are
-- kept as their project wants it: each is found without the other.
CREATE INDEX icecore_job_of_server ON river.river_job (finalized_at) WHERE finalized_at IS NOT NULL AND NOT args ? 'warehouse';

-- What warehouses and projects want of their queues of tasks: JSON, by the queue's
-- name.
ALTER TABLE rm.warehouse ADD COLUMN queues text;
ALTER TABLE rm.project ADD COLUMN queues text;
