-- First statement of every append: bounds the waits to come and takes the
-- commit id, and with it a transaction id, before any number is drawn.
-- $1 commit id, $2 lock_timeout.
WITH s AS MATERIALIZED (
    SELECT set_config('lock_timeout', $2, true), coalesce(pg_sequence_last_value('es.append_seq'), 0) AS floor
)
INSERT INTO es.commit (commit_id, outcome, seq_floor, claimed_at)
SELECT $1, 'committed', s.floor, clock_timestamp() FROM s
