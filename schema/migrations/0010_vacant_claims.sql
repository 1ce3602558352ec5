-- What a purge has to know, without a search in the log: which locations were
-- empty when they were claimed, so that all that lies there is the object's own,
-- and whether a purge that has started keeps the data. What was claimed before
-- this migration is not known to have been empty.
ALTER TABLE rm.location_claim ADD COLUMN vacant boolean NOT NULL DEFAULT false;
ALTER TABLE rm.location_claim ALTER COLUMN vacant DROP DEFAULT;
ALTER TABLE rm.dropped ADD COLUMN keeps_data boolean NOT NULL DEFAULT false;
ALTER TABLE rm.dropped ALTER COLUMN keeps_data DROP DEFAULT;
UPDATE rm.dropped d
   SET keeps_data = e.data IS NULL OR (convert_from(e.data, 'UTF8')::jsonb ->> 'keeps-data')::boolean
  FROM es.event e
 WHERE d.purging AND e.stream_id = d.object_id
   AND e.type IN ('dev.icecore.table.purge-started', 'dev.icecore.view.purge-started');

-- See 0003 for why this is a function.
DROP FUNCTION rm.claim(uuid, uuid, uuid, text, text, bigint);
CREATE FUNCTION rm.claim(
    p_warehouse uuid, p_branch uuid, p_object uuid, p_location text, p_upper text, p_version bigint, p_vacant boolean
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO rm.location_claim (warehouse_id, branch_id, object_id, location, covers, stream_version, vacant)
    VALUES (p_warehouse, p_branch, p_object, p_location, rm.location_range(p_location, p_upper, '[)'), p_version, p_vacant)
    ON CONFLICT ON CONSTRAINT location_claim_overlap DO NOTHING;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'location overlaps a claim' USING ERRCODE = 'exclusion_violation',
              SCHEMA = 'rm', TABLE = 'location_claim', CONSTRAINT = 'location_claim_overlap';
    END IF;
END $$;
