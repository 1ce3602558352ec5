SELECT note FROM es.checkpoint ORDER BY epoch DESC, size DESC LIMIT 1
