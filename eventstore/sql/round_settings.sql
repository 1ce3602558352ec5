-- Settings of one round, local to its transaction and so also right behind a
-- pooler: a holder that freezes is replaced. Then the number, and only then,
-- by the lock of the head that follows, this transaction's own id.
SELECT set_config('idle_in_transaction_session_timeout', $1, true),
       set_config('statement_timeout', $2, true),
       set_config('tcp_user_timeout', $3, true),
       CASE WHEN is_called THEN last_value ELSE last_value - 1 END
  FROM es.append_seq
