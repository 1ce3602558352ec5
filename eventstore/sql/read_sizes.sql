-- Which events of a page of entries are not of some types, and how many bytes
-- their data has; the data stays where it is. The range prunes the partitions.
SELECT append_seq, ordinal, type <> ALL ($4::text[]), COALESCE(octet_length(data), 0)
  FROM es.event
 WHERE append_seq BETWEEN $1 AND $2 AND append_seq = ANY ($3::bigint[])
