DELETE FROM publish.parked WHERE destination_id = $1
