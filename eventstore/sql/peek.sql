-- Is there anything to do? Reads without a lock, so that idle instances write
-- nothing. One row; none means that the head is missing.
SELECT h.state = 'halted',
       h.system_identifier IS NULL
       OR EXISTS (SELECT FROM es.event e WHERE e.append_seq > h.seen)
       OR EXISTS (SELECT FROM es.event e
                   WHERE e.append_seq = ANY (h.holes)
                     AND e.append_seq BETWEEN h.holes[1] AND h.holes[cardinality(h.holes)])
       OR ((cardinality(h.holes) > 0 OR n.last > h.seen)
           AND (h.cand_xid IS NULL OR pg_snapshot_xmin(pg_current_snapshot()) > h.cand_xid)),
       n.last < h.seen
  FROM es.log_head h, (SELECT coalesce(pg_sequence_last_value('es.append_seq'), 0) AS last OFFSET 0) n
