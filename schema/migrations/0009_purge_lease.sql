-- Which run of a purge may delete (ADR 0014). One run at a time holds the lease
-- of a drop and renews it by this database's clock; another takes it when it has
-- expired, and what the first deletes by then is deleted under no lease, so it
-- deletes nothing. A report says that all is deleted: from then on nobody gets the
-- lease, and what is left to do is to say so in the log. Operational: a row is
-- needed while files are deleted, and no longer.
CREATE TABLE ops.purge_lease (
    drop_event   uuid        NOT NULL,
    warehouse_id uuid        NOT NULL,
    object_id    uuid        NOT NULL,
    run          uuid        NOT NULL, -- who may delete
    expires_at   timestamptz NOT NULL,
    report       text,                 -- JSON, of the run that deleted the last file
    CONSTRAINT purge_lease_pkey PRIMARY KEY (drop_event)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON ops.purge_lease TO :app;
