SELECT epoch, previous_size, previous_root, opened_at, event_id FROM es.epoch ORDER BY epoch
