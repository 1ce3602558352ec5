-- All is deleted: nobody gets the lease any more. No row if this run lost it.
UPDATE ops.purge_lease SET report = $3
 WHERE drop_event = $1 AND object_id = $4 AND run = $2 AND report IS NULL
