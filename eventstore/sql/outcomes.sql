SELECT commit_id, outcome FROM es.commit WHERE commit_id = ANY ($1::uuid[])
