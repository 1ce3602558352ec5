-- The highest number drawn, and never one that was not. A SELECT from a sequence
-- reads its page without the lock under which nextval works, and nextval writes
-- a value 32 ahead into the page while it makes its WAL record: one read in some
-- thousands saw that one, and the numbers in between were given up for dead.
-- The function takes the lock (ADR 0015).
CREATE OR REPLACE FUNCTION es.last_append_seq() RETURNS bigint
LANGUAGE sql VOLATILE AS $$
    SELECT coalesce(pg_sequence_last_value('es.append_seq'), 0)
$$;
