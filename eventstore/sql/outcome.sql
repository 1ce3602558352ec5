SELECT outcome, seq_floor FROM es.commit WHERE commit_id = $1
