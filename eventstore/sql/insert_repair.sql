INSERT INTO es.repair (append_seq, decision, reason, decided_at, event_id) VALUES ($1, $2, $3, $4, $5)
