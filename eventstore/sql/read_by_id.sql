SELECT position, append_seq, ordinal, epoch, logtime, leaf
  FROM es.log_entry WHERE event_id = ANY ($1::uuid[])
