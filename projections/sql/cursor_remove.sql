DELETE FROM publish.destination WHERE destination_id = $1
