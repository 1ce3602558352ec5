-- Settings of one round, local to its transaction and so also right behind a
-- pooler: a holder that freezes is replaced. Then the number, and only then,
-- by the lock of the head that follows, this transaction's own id.
--
-- The number must not be too high: what lies between it and the true one would
-- be given up for dead. So it is asked of the function, which locks the
-- sequence's page. A SELECT from the sequence reads the page while nextval may
-- have the value in it that it writes to the WAL, 32 numbers ahead (ADR 0015).
SELECT set_config('idle_in_transaction_session_timeout', $1, true),
       set_config('statement_timeout', $2, true),
       set_config('tcp_user_timeout', $3, true),
       coalesce(pg_sequence_last_value('es.append_seq'), 0)
