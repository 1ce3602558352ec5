SELECT position, append_seq, ordinal, epoch, logtime, leaf
  FROM es.log_entry WHERE position > $1 ORDER BY position LIMIT $2
