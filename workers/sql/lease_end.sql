-- The log holds that the purge is over: a run that asks for the lease now finds
-- nothing to purge when it has it.
DELETE FROM ops.purge_lease WHERE drop_event = $1 AND object_id = $2
