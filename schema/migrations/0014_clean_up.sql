-- The clean-up of metadata files (ADR 0016).

-- How long the files of former states are kept; null where the server's setting
-- holds.
ALTER TABLE rm.warehouse ADD COLUMN undo_window_seconds bigint;

-- Clean-ups that have started and not finished: files holds the ids in the names
-- of the files that they delete. There are as many rows as runs, a handful.
CREATE TABLE rm.clean_up (
    warehouse_id   uuid   NOT NULL,
    branch_id      uuid   NOT NULL,
    clean_up_id    uuid   NOT NULL,
    object_id      uuid   NOT NULL, -- the table or view that they were written for
    files          uuid[] NOT NULL,
    stream_version bigint NOT NULL,
    CONSTRAINT clean_up_pkey PRIMARY KEY (warehouse_id, branch_id, clean_up_id)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON rm.clean_up TO :app;

-- rm.must_stay refuses a registration of a file that is being deleted. It runs in
-- the commit of the registration, after the guards are locked. Whoever could name
-- the file changes or ends the object that the clean-up asserts: one of the two
-- commits comes second, and sees the first.
CREATE FUNCTION rm.must_stay(p_file uuid) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM rm.clean_up c WHERE p_file = ANY (c.files)) THEN
        RAISE EXCEPTION 'the file is being deleted' USING ERRCODE = 'check_violation',
              SCHEMA = 'rm', TABLE = 'clean_up', CONSTRAINT = 'clean_up_file';
    END IF;
END $$;

-- When a table or view was cleaned up last, at which version of its stream, and
-- whether files are left that may go later. Files written before known_until were
-- found to be former states, which stay as long as the table keeps those.
-- Operational: a row that is missing costs another look.
CREATE TABLE ops.cleaned (
    object_id    uuid        NOT NULL,
    warehouse_id uuid        NOT NULL,
    version      bigint      NOT NULL,
    cleaned_at   timestamptz NOT NULL, -- by this database's clock
    waiting      boolean     NOT NULL,
    known_until  timestamptz,          -- by the store's clock
    CONSTRAINT cleaned_pkey PRIMARY KEY (object_id)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON ops.cleaned TO :app;
