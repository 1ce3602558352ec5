UPDATE publish.parked SET retry = true
 WHERE destination_id = $1 AND position = $2 AND event = $3
