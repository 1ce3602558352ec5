-- Leases of what is no longer to be purged, from runs that were killed between
-- the end of the purge and that of its lease.
DELETE FROM ops.purge_lease l
 WHERE l.expires_at < clock_timestamp() - interval '1 hour'
   AND NOT EXISTS (SELECT FROM rm.clean_up c WHERE c.clean_up_id = l.drop_event)
   AND NOT EXISTS (
       SELECT FROM rm.dropped d
        WHERE d.object_id = l.object_id AND d.drop_event = l.drop_event AND d.purge_requested AND d.expires_at IS NULL)
