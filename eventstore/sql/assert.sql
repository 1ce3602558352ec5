SELECT es.assert($1, $2, $3, $4)
