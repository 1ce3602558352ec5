-- Number of a commit by one of its events: $1 floor, $2 event id, $3 commit id.
-- Once the event has a position that tells it; before, it is among the newest.
SELECT e.append_seq
  FROM es.event e
 WHERE e.append_seq = (SELECT l.append_seq FROM es.log_entry l WHERE l.event_id = $2) AND e.event_id = $2 AND e.commit_id = $3
 UNION ALL
SELECT e.append_seq
  FROM es.event e
 WHERE NOT EXISTS (SELECT FROM es.log_entry l WHERE l.event_id = $2)
   AND e.append_seq >= $1 AND e.event_id = $2 AND e.commit_id = $3
