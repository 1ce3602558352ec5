-- How many partitions stand empty above the next number, whether that number
-- has one, and whether the current one is half full.
SELECT count(*) FILTER (WHERE p.low > n.next),
       count(*) FILTER (WHERE p.low <= n.next AND n.next < p.high) = 1,
       coalesce(bool_or(n.next >= p.low + (p.high - p.low) / 2) FILTER (WHERE p.low <= n.next AND n.next < p.high), true)
  FROM (SELECT coalesce(pg_sequence_last_value('es.append_seq'), 0) + 1 AS next OFFSET 0) n LEFT JOIN es.partition p ON true
