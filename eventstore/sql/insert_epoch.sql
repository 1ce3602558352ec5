INSERT INTO es.epoch (epoch, previous_size, previous_root, system_identifier, timeline, opened_at, event_id)
VALUES ($1, $2, $3, $4, $5, $6, $7)
