-- A held stream is locked FOR SHARE, as an asserted one is. FOR KEY SHARE goes
-- along with an update in progress: the row then has lockers and an updater at
-- once, whoever locks it next follows its versions, and two of them can wait for
-- each other on one row, whatever the order among rows (ADR 0021).
CREATE OR REPLACE FUNCTION es.hold(p_stream uuid, p_exclusive boolean, p_dormant boolean) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_open boolean;
BEGIN
    IF p_exclusive THEN
        SELECT NOT closed AND dormant = p_dormant INTO v_open
          FROM es.stream WHERE stream_id = p_stream FOR UPDATE;
    ELSE
        SELECT NOT closed AND dormant = p_dormant INTO v_open
          FROM es.stream WHERE stream_id = p_stream FOR SHARE;
    END IF;
    IF v_open IS DISTINCT FROM true THEN
        RAISE EXCEPTION 'stream is closed' USING ERRCODE = 'IC003', DETAIL = p_stream::text;
    END IF;
END $$;
