-- What a purge reported when all was deleted.
SELECT report FROM ops.purge_lease WHERE drop_event = $1 AND object_id = $2 AND report IS NOT NULL
