SELECT leaf FROM es.log_entry WHERE position >= $1 AND position < $2 ORDER BY position
