SELECT es.position_at($1)
