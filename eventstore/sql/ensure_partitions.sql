SELECT es.ensure_event_partitions($1, $2)
