SELECT h.log_id, h.size, h.seen, h.holes, h.epoch, h.root, h.logtime, h.state, h.reason, coalesce(h.halted_at, 0),
       (SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM es.append_seq)
  FROM es.log_head h
