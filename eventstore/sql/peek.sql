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
  FROM es.log_head h, (SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END AS last FROM es.append_seq OFFSET 0) n
