SELECT log_id, state, reason, coalesce(halted_at, 0) FROM es.log_head FOR UPDATE
