INSERT INTO publish.destination (destination_id, epoch, position) VALUES ($1, $2, $3)
