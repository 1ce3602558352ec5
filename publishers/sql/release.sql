-- Nobody need wait for the end of a lease that its owner gives up.
UPDATE publish.destination SET lease_owner = NULL, lease_until = NULL
 WHERE destination_id = $1 AND lease_owner = $2
