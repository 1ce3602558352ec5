-- A page of entries with what only other entries can tell: whether the version
-- before stands further down in the log, and whether a repair let a gap pass.
SELECT l.position, l.append_seq, l.ordinal, l.event_id, l.stream_id, l.version, l.epoch, l.logtime, l.leaf,
       l.version = 1 OR EXISTS (SELECT FROM es.log_entry p WHERE p.stream_id = l.stream_id
                                   AND p.version = l.version - 1 AND p.position < l.position),
       EXISTS (SELECT FROM es.repair r WHERE r.append_seq = l.append_seq AND r.decision = 'accept')
  FROM es.log_entry l
 WHERE l.position > $1 AND l.position <= $2
 ORDER BY l.position LIMIT $3
