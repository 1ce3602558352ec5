SELECT event_id, position FROM es.log_entry WHERE event_id = ANY ($1::uuid[])
