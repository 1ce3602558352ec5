-- Commits in a range of numbers that should have positions and have none: not
-- passed over by a repair, not a hole ($3) when the head was read.
SELECT DISTINCT e.append_seq
  FROM es.event e
 WHERE e.append_seq BETWEEN $1 AND $2
   AND e.append_seq <> ALL ($3::bigint[])
   AND NOT EXISTS (SELECT FROM es.log_entry l WHERE l.event_id = e.event_id)
   AND NOT EXISTS (SELECT FROM es.repair r WHERE r.append_seq = e.append_seq AND r.decision = 'skip')
 ORDER BY 1 LIMIT 100
