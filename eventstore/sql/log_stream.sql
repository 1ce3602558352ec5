SELECT version FROM es.stream WHERE stream_id = $1 FOR UPDATE
