-- Where the log is published to (design section 6). What an operator decreed of
-- a destination is derived from the log, in rm; how far it has come and whether
-- it works is operational, in schema publish, and nothing there is replayed.

-- settings is a JSON object of strings and holds no secret: it names files of
-- them. filter is a JSON object of four lists, "projects" and "warehouses" of
-- ids, "entities" and "types" of names; an empty list admits everything, and an
-- event has to be admitted by all four. start_* is the place decreed last, by
-- the creation or by a replay: the last position that is not published, and its
-- epoch, 0 and 0 for the beginning. start_version is the version of the event
-- that decreed it. A destination whose row in publish is missing begins there;
-- and since another start is another version, a broker that remembers what it has
-- seen is told by it that a replay is none of that.
CREATE TABLE rm.destination (
    destination_id uuid             NOT NULL,
    name           text             NOT NULL,
    name_fold1     text COLLATE "C" NOT NULL,
    kind           text             NOT NULL, -- nats, kafka, webhook, log
    settings       text             NOT NULL,
    filter         text             NOT NULL,
    on_refusal     text             NOT NULL, -- halt or park
    paused         boolean          NOT NULL,
    start_epoch    bigint           NOT NULL,
    start_position bigint           NOT NULL,
    start_version  bigint           NOT NULL,
    stream_version bigint           NOT NULL,
    CONSTRAINT destination_pkey PRIMARY KEY (destination_id),
    CONSTRAINT destination_name_key UNIQUE (name_fold1)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON rm.destination TO :app;

CREATE SCHEMA publish;
GRANT USAGE ON SCHEMA publish TO :app;

-- The cursor. Everything up to position is settled: published, filtered out or
-- parked. A run that publishes holds the lease, and moves the cursor only while
-- the lease is its own; whoever decrees another place takes the lease away. A
-- destination that halted refuses the event at halted_at for good and stays at
-- its place until an operator decides.
CREATE TABLE publish.destination (
    destination_id uuid        NOT NULL,
    epoch          bigint      NOT NULL, -- of the event at position, 0 before the first
    position       bigint      NOT NULL,
    event          uuid,                 -- the last that was really published there
    lease_owner    uuid,
    lease_until    timestamptz,          -- by the database's clock
    failures       integer     NOT NULL DEFAULT 0, -- in a row
    retry_after    timestamptz,          -- by the database's clock
    last_error     text,
    last_error_at  timestamptz,
    halted_at      bigint,
    published      bigint      NOT NULL DEFAULT 0, -- in all
    CONSTRAINT destination_pkey PRIMARY KEY (destination_id)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON publish.destination TO :app;

-- Events that a destination refused for good, or that an operator let pass.
-- With retry the relay publishes one again, after what it published last, and
-- removes the row when it was taken; if it is refused again, retry is false.
CREATE TABLE publish.parked (
    destination_id uuid        NOT NULL,
    position       bigint      NOT NULL,
    event          uuid        NOT NULL,
    reason         text        NOT NULL,
    parked_at      timestamptz NOT NULL,
    retry          boolean     NOT NULL DEFAULT false,
    CONSTRAINT parked_pkey PRIMARY KEY (destination_id, position)
);
CREATE INDEX parked_retry ON publish.parked (destination_id, position) WHERE retry;
GRANT SELECT, INSERT, UPDATE, DELETE ON publish.parked TO :app;

-- publish.heal gives each destination that has no row in publish one, at the
-- place decreed last, and returns how many. It removes nothing: while the read
-- models are swapped, a destination may look as if it were gone.
CREATE FUNCTION publish.heal() RETURNS bigint
LANGUAGE sql VOLATILE AS $$
    WITH made AS (
        INSERT INTO publish.destination (destination_id, epoch, position)
        SELECT d.destination_id, d.start_epoch, d.start_position
          FROM rm.destination d
         WHERE NOT EXISTS (SELECT FROM publish.destination p WHERE p.destination_id = d.destination_id)
        ON CONFLICT (destination_id) DO NOTHING
        RETURNING 1
    )
    SELECT count(*) FROM made
$$;
