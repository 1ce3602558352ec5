SELECT h.log_id, h.size, h.seen, h.holes, h.epoch, h.root, h.logtime, h.state, h.reason, coalesce(h.halted_at, 0),
       coalesce(pg_sequence_last_value('es.append_seq'), 0)
  FROM es.log_head h
