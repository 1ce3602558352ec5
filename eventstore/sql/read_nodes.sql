SELECT hash FROM es.merkle_node WHERE level = $1 AND index >= $2 AND index < $3 ORDER BY index
