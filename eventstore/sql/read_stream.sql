SELECT position, append_seq, ordinal, epoch, logtime, leaf
  FROM es.log_entry WHERE stream_id = $1 AND version >= $2 ORDER BY version LIMIT $3
