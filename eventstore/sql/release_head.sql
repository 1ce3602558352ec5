UPDATE es.log_head SET state = 'running', reason = '', halted_at = NULL
