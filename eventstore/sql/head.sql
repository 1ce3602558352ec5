SELECT h.log_id, h.size, h.seen, h.holes, h.epoch, h.root, h.logtime, h.state, h.reason, coalesce(h.halted_at, 0),
       es.last_append_seq()
  FROM es.log_head h
