-- No row: another instance is at it. Locking the row gives this transaction
-- its id, which therefore was taken after last_append_seq was read.
SELECT h.log_id, h.size, h.seen, h.holes, h.cand_n, h.cand_xid, h.epoch, h.system_identifier, h.timeline,
       h.frontier, h.root, h.logtime, h.state, h.reason, coalesce(h.halted_at, 0)
  FROM es.log_head h
   FOR UPDATE SKIP LOCKED
