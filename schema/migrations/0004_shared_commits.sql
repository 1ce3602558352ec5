-- Commits that wait at the same moment share a transaction (design 3.2), and
-- an event costs one index entry instead of three.

-- The unique keys of the partitions said again, for each partition alone, what
-- log_entry_event and log_entry_stream_version say for all, and what the guard
-- has decided before: a third of what the seal cost. New partitions have the
-- primary key alone.
DO $$
DECLARE
    v_name text;
BEGIN
    FOR v_name IN SELECT name FROM es.partition ORDER BY low LOOP
        EXECUTE format('ALTER TABLE es.%I DROP CONSTRAINT IF EXISTS %I, DROP CONSTRAINT IF EXISTS %I',
                       v_name, v_name || '_event_id', v_name || '_stream_version');
    END LOOP;
END $$;

-- As in 0002, but for the two keys.
CREATE OR REPLACE FUNCTION es.ensure_event_partitions(p_size bigint, p_spare integer) RETURNS integer
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
        EXECUTE format('ALTER TABLE es.event ATTACH PARTITION es.%I FOR VALUES FROM (%s) TO (%s)',
                       v_name, v_low, v_low + p_size);
        INSERT INTO es.partition (low, high, name) VALUES (v_low, v_low + p_size, v_name);
        v_made := v_made + 1;
    END LOOP;
    RETURN v_made;
END $$;

-- es.append_shared carries out the plain commits of one instance that waited
-- for each other: each of one event on one open stream that it advances. It
-- returns the number of each that happened. Of the others nothing happened,
-- and their ids are not taken: they have to go alone, which tells why.
--
-- The order is that of a single commit where it matters. Guards first: a
-- guard that somebody else holds is passed over, so that nobody here waits for
-- a stranger, and a guard that moved is left alone. Then the commit ids, which
-- may meet a burn; only after this it is certain who goes on. The numbers are
-- drawn by the last statement, when every lock is held (law 9), by a
-- transaction that owned its id long before.
--
-- All statements look up keys, whatever the statistics say (ADR 0008); nothing
-- is set for the session, for a pooler may stand in between.
CREATE FUNCTION es.append_shared(
    p_lock_timeout text, p_commit uuid[], p_deadline timestamptz[], p_stream uuid[], p_version bigint[],
    p_pointer text[], p_next_pointer text[], p_event uuid[], p_stream_type text[], p_type text[], p_schema text[],
    p_occurred timestamptz[], p_actor uuid[], p_request uuid[], p_causation uuid[], p_warehouse uuid[],
    p_project uuid[], p_trace text[], p_data bytea[]
) RETURNS TABLE (winner uuid, number bigint)
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off
SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_open  bigint[];
    v_mine  bigint[];
    v_floor bigint;
    v_moved bigint;
BEGIN
    PERFORM set_config('lock_timeout', p_lock_timeout, true);

    SELECT array_agg(u.n) INTO v_open
      FROM unnest(p_stream, p_version, p_pointer, p_deadline) WITH ORDINALITY AS u (stream_id, version, pointer, deadline, n)
     CROSS JOIN LATERAL (
           SELECT FROM es.stream s
            WHERE s.stream_id = u.stream_id AND s.version = u.version AND s.pointer IS NOT DISTINCT FROM u.pointer
              AND NOT s.dormant AND NOT s.closed
              FOR NO KEY UPDATE SKIP LOCKED) held
     WHERE u.deadline IS NULL OR clock_timestamp() <= u.deadline;
    IF v_open IS NULL THEN
        RETURN;
    END IF;

    v_floor := es.last_append_seq();
    WITH taken AS (
        INSERT INTO es.commit (commit_id, outcome, seq_floor, claimed_at)
        SELECT p_commit[n], 'committed', v_floor, clock_timestamp() FROM unnest(v_open) AS n
        ON CONFLICT DO NOTHING
        RETURNING commit_id
    )
    SELECT array_agg(n) INTO v_mine FROM unnest(v_open) AS n WHERE p_commit[n] IN (SELECT commit_id FROM taken);
    IF v_mine IS NULL THEN
        RETURN;
    END IF;

    UPDATE es.stream s
       SET version = s.version + 1, pointer = p_next_pointer[n], mark = p_event[n]
      FROM unnest(v_mine) AS n
     WHERE s.stream_id = p_stream[n] AND s.version = p_version[n];
    GET DIAGNOSTICS v_moved = ROW_COUNT;
    IF v_moved <> cardinality(v_mine) THEN
        RAISE EXCEPTION 'commits that share a transaction share a stream, or a held guard moved' USING ERRCODE = 'IC004';
    END IF;

    RETURN QUERY
    INSERT INTO es.event (append_seq, ordinal, commit_size, event_id, stream_id, stream_type, version, type,
           data_schema, occurred_at, actor, request_id, causation, commit_id, warehouse, project, traceparent,
           data, data_sha256)
    SELECT nextval('es.append_seq'), 0, 1, u.event_id, u.stream_id, u.stream_type, u.version + 1, u.type,
           u.data_schema, u.occurred_at, u.actor, u.request_id, u.causation, u.commit_id, u.warehouse, u.project,
           u.traceparent, u.data, sha256(u.data)
      FROM unnest(p_commit, p_stream, p_version, p_event, p_stream_type, p_type, p_schema, p_occurred, p_actor,
                  p_request, p_causation, p_warehouse, p_project, p_trace, p_data) WITH ORDINALITY
           AS u (commit_id, stream_id, version, event_id, stream_type, type, data_schema, occurred_at, actor,
                 request_id, causation, warehouse, project, traceparent, data, n)
     WHERE u.n = ANY (v_mine)
    RETURNING commit_id, append_seq;
END $$;
