-- $1 first position, $2 epoch, $3 logtime.
INSERT INTO es.log_entry (position, append_seq, ordinal, event_id, stream_id, version, epoch, logtime, leaf)
SELECT $1 + u.n - 1, u.append_seq, u.ordinal, u.event_id, u.stream_id, u.version, $2, $3, u.leaf
  FROM unnest($4::bigint[], $5::integer[], $6::uuid[], $7::uuid[], $8::bigint[], $9::bytea[]) WITH ORDINALITY
       AS u(append_seq, ordinal, event_id, stream_id, version, leaf, n)
