SELECT id, stream, version FROM o.event WHERE id > $1 ORDER BY id LIMIT 1000
