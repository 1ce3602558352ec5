SELECT es.hold($1, $2, $3)
