-- The log (design section 3). Two roles: the owner, who runs this file, and
-- the application (:app), who may add to the log and never change it.
--
-- There is no trigger and no deferrable constraint here, nor may one ever
-- come: whatever can wait or fail must do so before the seal draws its number
-- (law 9). A test reads pg_trigger and pg_constraint.

CREATE SCHEMA es;
GRANT USAGE ON SCHEMA es TO :app;

-- Numbers of the commits, drawn by the seal. CACHE stays 1: a cached block
-- would give a later commit of one stream a lower number.
CREATE SEQUENCE es.append_seq AS bigint START WITH 1 CACHE 1 NO CYCLE;
GRANT USAGE, SELECT ON SEQUENCE es.append_seq TO :app;

-- Fates of commits (design 3.3). The row is written first in every append, so
-- that the commit owns a transaction id before it draws its number, and so
-- that whoever must know its fate can take the id instead.
CREATE TABLE es.commit (
    commit_id  uuid        NOT NULL,
    outcome    text        NOT NULL,
    seq_floor  bigint      NOT NULL, -- the commit's number is not below this
    claimed_at timestamptz NOT NULL,
    CONSTRAINT commit_pkey PRIMARY KEY (commit_id),
    CONSTRAINT commit_outcome CHECK (outcome IN ('committed', 'aborted'))
);
GRANT SELECT, INSERT ON es.commit TO :app;

-- Idempotency keys of clients, inserted inside the commit.
CREATE TABLE es.idempotency (
    principal  uuid        NOT NULL,
    key        uuid        NOT NULL,
    operation  text        NOT NULL,
    digest     bytea       NOT NULL,
    status     integer     NOT NULL,
    object     uuid,
    pointer    text,
    response   bytea,
    expires_at timestamptz NOT NULL,
    CONSTRAINT idempotency_pkey PRIMARY KEY (principal, key)
);
CREATE INDEX idempotency_expires_at ON es.idempotency (expires_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON es.idempotency TO :app;

-- The guards: one row for each stream, the only home of version, pointer and
-- mark. The fill factor keeps the update of a commit heap-only.
CREATE TABLE es.stream (
    stream_id   uuid    NOT NULL,
    stream_type text    NOT NULL,
    version     bigint  NOT NULL,
    pointer     text,
    mark        uuid    NOT NULL, -- id of the stream's last event
    dormant     boolean NOT NULL DEFAULT false, -- soft-dropped: only undrop and expiry may advance it
    closed      boolean NOT NULL DEFAULT false,
    CONSTRAINT stream_pkey PRIMARY KEY (stream_id),
    CONSTRAINT stream_version CHECK (version > 0)
) WITH (fillfactor = 70);
GRANT SELECT, INSERT, UPDATE ON es.stream TO :app;

-- The events. Partitions come from es.ensure_event_partitions; there is no
-- default partition. data is null once it was erased; its hash stays.
CREATE TABLE es.event (
    append_seq  bigint      NOT NULL,
    ordinal     integer     NOT NULL,
    commit_size integer     NOT NULL,
    event_id    uuid        NOT NULL,
    stream_id   uuid        NOT NULL,
    stream_type text        NOT NULL,
    version     bigint      NOT NULL,
    type        text        NOT NULL,
    data_schema text        NOT NULL,
    occurred_at timestamptz NOT NULL,
    actor       uuid,
    request_id  uuid,
    causation   uuid,
    commit_id   uuid        NOT NULL,
    warehouse   uuid,
    project     uuid,
    traceparent text,
    data        bytea,
    data_sha256 bytea       NOT NULL,
    CONSTRAINT event_pkey PRIMARY KEY (append_seq, ordinal)
) PARTITION BY RANGE (append_seq);
GRANT SELECT, INSERT ON es.event TO :app;

CREATE TABLE es.partition (
    low  bigint NOT NULL, -- first number of the partition
    high bigint NOT NULL, -- first number after it
    name text   NOT NULL,
    CONSTRAINT partition_pkey PRIMARY KEY (low),
    CONSTRAINT partition_range CHECK (low < high)
);
GRANT SELECT ON es.partition TO :app;

-- The log itself: which event stands at which position. Only the sequencer
-- writes it. The unique keys are the net below the invariants: one position
-- for each event, one event for each version of a stream.
CREATE TABLE es.log_entry (
    position   bigint      NOT NULL,
    append_seq bigint      NOT NULL,
    ordinal    integer     NOT NULL,
    event_id   uuid        NOT NULL,
    stream_id  uuid        NOT NULL,
    version    bigint      NOT NULL,
    epoch      bigint      NOT NULL,
    logtime    timestamptz NOT NULL,
    leaf       bytea       NOT NULL,
    CONSTRAINT log_entry_pkey PRIMARY KEY (position),
    CONSTRAINT log_entry_event UNIQUE (event_id),
    CONSTRAINT log_entry_stream_version UNIQUE (stream_id, version)
);
GRANT SELECT, INSERT ON es.log_entry TO :app;

-- Nodes of the Merkle tree at every eighth level; those between are computed
-- from at most 255 hashes below, the leaves stand in es.log_entry.
CREATE TABLE es.merkle_node (
    level smallint NOT NULL,
    index bigint   NOT NULL,
    hash  bytea    NOT NULL,
    CONSTRAINT merkle_node_pkey PRIMARY KEY (level, index)
);
GRANT SELECT, INSERT ON es.merkle_node TO :app;

-- The head: the sequencer's one row.
CREATE TABLE es.log_head (
    one               boolean     NOT NULL DEFAULT true,
    log_id            uuid        NOT NULL,
    size              bigint      NOT NULL,
    seen              bigint      NOT NULL, -- highest number met
    holes             bigint[]    NOT NULL, -- numbers up to seen that were not visible
    cand_n            bigint,               -- candidate: every number up to this …
    cand_xid          xid8,                 -- … belongs to a transaction below this
    epoch             bigint      NOT NULL,
    system_identifier bigint,               -- null until the first round
    timeline          text,
    frontier          bytea       NOT NULL, -- roots of the complete subtrees, largest first
    root              bytea       NOT NULL,
    logtime           timestamptz NOT NULL,
    state             text        NOT NULL DEFAULT 'running',
    reason            text        NOT NULL DEFAULT '',
    halted_at         bigint,               -- number of the commit that halted the log
    CONSTRAINT log_head_pkey PRIMARY KEY (one),
    CONSTRAINT log_head_one CHECK (one),
    CONSTRAINT log_head_state CHECK (state IN ('running', 'halted'))
) WITH (fillfactor = 10);
INSERT INTO es.log_head (log_id, size, seen, holes, epoch, frontier, root, logtime)
VALUES (gen_random_uuid(), 0, 0, '{}', 1, '', sha256(''), timestamptz '1970-01-01 00:00:00+00');
GRANT SELECT, UPDATE ON es.log_head TO :app;

-- Epochs: unbroken histories of positions (design 3.6).
CREATE TABLE es.epoch (
    epoch             bigint      NOT NULL,
    previous_size     bigint      NOT NULL, -- positions up to this belong to earlier epochs
    previous_root     bytea       NOT NULL,
    system_identifier bigint      NOT NULL,
    timeline          text        NOT NULL,
    opened_at         timestamptz NOT NULL,
    event_id          uuid, -- of dev.icecore.log.epoch-opened; null for the first epoch
    CONSTRAINT epoch_pkey PRIMARY KEY (epoch)
);
GRANT SELECT, INSERT ON es.epoch TO :app;

-- Signed checkpoints.
CREATE TABLE es.checkpoint (
    epoch     bigint      NOT NULL,
    size      bigint      NOT NULL,
    root      bytea       NOT NULL,
    note      text        NOT NULL,
    signed_at timestamptz NOT NULL,
    CONSTRAINT checkpoint_pkey PRIMARY KEY (epoch, size)
);
GRANT SELECT, INSERT ON es.checkpoint TO :app;

-- Decisions of operators about commits that halted the log.
CREATE TABLE es.repair (
    append_seq bigint      NOT NULL,
    decision   text        NOT NULL,
    reason     text        NOT NULL,
    decided_at timestamptz NOT NULL,
    event_id   uuid        NOT NULL,
    CONSTRAINT repair_pkey PRIMARY KEY (append_seq),
    CONSTRAINT repair_decision CHECK (decision IN ('skip', 'accept'))
);
GRANT SELECT, INSERT ON es.repair TO :app;

-- SQLSTATEs: IC001 the guard was lost, IC002 the commit is past its deadline,
-- IC003 the stream is closed, dormant or missing, IC004 a write met another
-- number of rows, IC005 the idempotency key was used before.

-- es.hold keeps a parent from closing.
CREATE FUNCTION es.hold(p_stream uuid, p_exclusive boolean, p_dormant boolean) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_open boolean;
BEGIN
    IF p_exclusive THEN
        SELECT NOT closed AND dormant = p_dormant INTO v_open
          FROM es.stream WHERE stream_id = p_stream FOR UPDATE;
    ELSE
        SELECT NOT closed AND dormant = p_dormant INTO v_open
          FROM es.stream WHERE stream_id = p_stream FOR KEY SHARE;
    END IF;
    IF v_open IS DISTINCT FROM true THEN
        RAISE EXCEPTION 'stream is closed' USING ERRCODE = 'IC003', DETAIL = p_stream::text;
    END IF;
END $$;

-- es.assert keeps a stream from changing and checks its version.
CREATE FUNCTION es.assert(p_stream uuid, p_version bigint, p_exclusive boolean, p_dormant boolean) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_open    boolean;
    v_version bigint;
BEGIN
    IF p_exclusive THEN
        SELECT NOT closed AND dormant = p_dormant, version INTO v_open, v_version
          FROM es.stream WHERE stream_id = p_stream FOR UPDATE;
    ELSE
        SELECT NOT closed AND dormant = p_dormant, version INTO v_open, v_version
          FROM es.stream WHERE stream_id = p_stream FOR SHARE;
    END IF;
    IF v_open IS NULL THEN
        RAISE EXCEPTION 'stream is missing' USING ERRCODE = 'IC003', DETAIL = p_stream::text;
    ELSIF v_version <> p_version THEN
        RAISE EXCEPTION 'stream was changed concurrently' USING ERRCODE = 'IC001', DETAIL = p_stream::text;
    ELSIF NOT v_open THEN
        RAISE EXCEPTION 'stream is closed' USING ERRCODE = 'IC003', DETAIL = p_stream::text;
    END IF;
END $$;

-- es.create adds a guard row.
CREATE FUNCTION es.create(
    p_stream uuid, p_type text, p_version bigint, p_pointer text, p_mark uuid,
    p_dormant boolean, p_closed boolean, p_deadline timestamptz
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF clock_timestamp() > p_deadline THEN
        RAISE EXCEPTION 'commit is past its deadline' USING ERRCODE = 'IC002', DETAIL = p_stream::text;
    END IF;
    INSERT INTO es.stream (stream_id, stream_type, version, pointer, mark, dormant, closed)
    VALUES (p_stream, p_type, p_version, p_pointer, p_mark, p_dormant, p_closed);
END $$;

-- es.advance moves version, pointer and mark together, or raises.
CREATE FUNCTION es.advance(
    p_stream uuid, p_version bigint, p_records bigint, p_pointer text, p_next_pointer text, p_mark uuid,
    p_exclusive boolean, p_dormant boolean, p_next_dormant boolean, p_close boolean, p_deadline timestamptz
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_open    boolean;
    v_version bigint;
BEGIN
    IF clock_timestamp() > p_deadline THEN
        RAISE EXCEPTION 'commit is past its deadline' USING ERRCODE = 'IC002', DETAIL = p_stream::text;
    END IF;
    IF p_exclusive THEN
        PERFORM 1 FROM es.stream WHERE stream_id = p_stream FOR UPDATE;
    END IF;
    UPDATE es.stream
       SET version = version + p_records, pointer = p_next_pointer, mark = p_mark,
           dormant = p_next_dormant, closed = p_close
     WHERE stream_id = p_stream AND version = p_version AND pointer IS NOT DISTINCT FROM p_pointer
       AND dormant = p_dormant AND NOT closed;
    IF FOUND THEN
        RETURN;
    END IF;
    SELECT NOT closed AND dormant = p_dormant, version INTO v_open, v_version
      FROM es.stream WHERE stream_id = p_stream;
    IF v_open IS NULL THEN
        RAISE EXCEPTION 'stream is missing' USING ERRCODE = 'IC003', DETAIL = p_stream::text;
    ELSIF NOT v_open AND v_version = p_version THEN
        RAISE EXCEPTION 'stream is closed' USING ERRCODE = 'IC003', DETAIL = p_stream::text;
    END IF;
    RAISE EXCEPTION 'stream was changed concurrently' USING ERRCODE = 'IC001', DETAIL = p_stream::text;
END $$;

-- es.expect_rows aborts a commit whose write met another number of rows.
CREATE FUNCTION es.expect_rows(p_actual bigint, p_expected bigint, p_code text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF p_actual <> p_expected THEN
        RAISE EXCEPTION 'write met % rows instead of %', p_actual, p_expected USING ERRCODE = p_code;
    END IF;
END $$;

-- es.last_append_seq is the highest number drawn, 0 before the first.
CREATE FUNCTION es.last_append_seq() RETURNS bigint
LANGUAGE sql VOLATILE AS $$
    SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM es.append_seq
$$;

-- es.position_at is the last position whose logtime is not after p_time, 0 if
-- there is none. logtime ascends with the position and positions are dense,
-- so halving the range needs no index.
CREATE FUNCTION es.position_at(p_time timestamptz) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_low  bigint := 0;
    v_high bigint;
    v_mid  bigint;
BEGIN
    SELECT size INTO v_high FROM es.log_head;
    WHILE v_low < v_high LOOP
        v_mid := v_low + (v_high - v_low + 1) / 2;
        IF (SELECT logtime <= p_time FROM es.log_entry WHERE position = v_mid) THEN
            v_low := v_mid;
        ELSE
            v_high := v_mid - 1;
        END IF;
    END LOOP;
    RETURN v_low;
END $$;

-- es.ensure_event_partitions makes partitions until the next number has one
-- and p_spare stand empty above it; it returns how many it made. Before, it
-- lifts a sequence that is behind the log (sequences are not carried by logical
-- replication), for numbers drawn there would never be met. It runs with
-- the owner's rights (design 3.7: the sequencer calls it as the application,
-- which owns no table), can do nothing but this, and never waits long: ATTACH
-- takes no lock that a reader or a commit would meet, and gives up after
-- 500 ms (SQLSTATE 55P03) behind maintenance, for the caller to try again.
CREATE FUNCTION es.ensure_event_partitions(p_size bigint, p_spare integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '500ms' AS $$
DECLARE
    v_next bigint;
    v_seen bigint;
    v_low  bigint;
    v_name text;
    v_made integer := 0;
BEGIN
    IF p_size < 1 OR p_spare < 0 OR p_spare > 8 THEN
        RAISE EXCEPTION 'partition size % or spare count % is out of range', p_size, p_spare
              USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM pg_advisory_xact_lock(7143, 1);
    SELECT greatest(h.seen, (SELECT max(append_seq) FROM es.event WHERE append_seq > h.seen))
      INTO v_seen FROM es.log_head h;
    IF es.last_append_seq() < v_seen THEN
        PERFORM setval('es.append_seq', v_seen);
    END IF;
    LOOP
        v_next := es.last_append_seq() + 1;
        EXIT WHEN EXISTS (SELECT FROM es.partition WHERE low <= v_next AND v_next < high)
              AND (SELECT count(*) FROM es.partition WHERE low > v_next) >= p_spare;
        SELECT coalesce(max(high), 0) INTO v_low FROM es.partition;
        v_low := greatest(v_low, v_next / p_size * p_size);
        v_name := 'event_' || v_low;
        EXECUTE format('CREATE TABLE es.%I (LIKE es.event INCLUDING ALL)', v_name);
        EXECUTE format('ALTER TABLE es.%I ADD CONSTRAINT %I UNIQUE (event_id)', v_name, v_name || '_event_id');
        EXECUTE format('ALTER TABLE es.%I ADD CONSTRAINT %I UNIQUE (stream_id, version)', v_name, v_name || '_stream_version');
        EXECUTE format('ALTER TABLE es.event ATTACH PARTITION es.%I FOR VALUES FROM (%s) TO (%s)',
                       v_name, v_low, v_low + p_size);
        INSERT INTO es.partition (low, high, name) VALUES (v_low, v_low + p_size, v_name);
        v_made := v_made + 1;
    END LOOP;
    RETURN v_made;
END $$;
REVOKE EXECUTE ON FUNCTION es.ensure_event_partitions(bigint, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION es.ensure_event_partitions(bigint, integer) TO :app;
