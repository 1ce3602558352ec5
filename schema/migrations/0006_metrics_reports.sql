-- What engines measured of their scans and commits (Iceberg's metrics reports),
-- kept for a while for people and tools to read. Operational: it is no fact of
-- the catalog, no event tells of it, and rebuild leaves it alone. Ids ascend
-- with the time of receipt, so the primary key finds what has expired.

CREATE SCHEMA ops;
GRANT USAGE ON SCHEMA ops TO :app;

CREATE TABLE ops.metrics_report (
    report_id    uuid        NOT NULL,
    warehouse_id uuid        NOT NULL,
    table_id     uuid        NOT NULL, -- the object, not the client's table-uuid
    received_at  timestamptz NOT NULL,
    actor_id     uuid        NOT NULL, -- a pseudonym
    report_type  text        NOT NULL, -- scan-report, commit-report, or what a newer client says
    snapshot_id  bigint,
    report       text        NOT NULL, -- JSON, as sent
    CONSTRAINT metrics_report_pkey PRIMARY KEY (report_id)
);
CREATE INDEX metrics_report_of_table ON ops.metrics_report (table_id, report_id);
GRANT SELECT, INSERT, UPDATE, DELETE ON ops.metrics_report TO :app;
