-- The constraint over location claims keeps its ranges in a quad-tree, which is
-- as deep as its input is sorted, and locations come in order: of names, or of
-- ids that begin with the time. At 100,000 claims one more cost 4 ms. So the
-- ranges are made of scattered keys: each part of a key is replaced by a part of
-- its hash, which keeps what lies below what and nothing else (ADR 0017).
-- The program makes them; this function is for what is here already.
CREATE FUNCTION rm.scattered(p_location text) RETURNS text
LANGUAGE sql STABLE STRICT AS $$
    SELECT string_agg(left(encode(sha256(convert_to(part, 'UTF8')), 'hex'), 24), '/' ORDER BY place)
      FROM string_to_table(left(p_location, -1), '/') WITH ORDINALITY AS parts (part, place)
$$;

ALTER TABLE rm.location_claim DROP CONSTRAINT location_claim_overlap;
UPDATE rm.location_claim SET covers = rm.location_range(rm.scattered(location) || '/', rm.scattered(location) || '0', '[)');
ALTER TABLE rm.location_claim ADD CONSTRAINT location_claim_overlap EXCLUDE USING spgist (covers WITH &&);

-- See 0003 for why this is a function.
DROP FUNCTION rm.claim(uuid, uuid, uuid, text, text, bigint, boolean);
CREATE FUNCTION rm.claim(
    p_warehouse uuid, p_branch uuid, p_object uuid, p_location text, p_lower text, p_upper text, p_version bigint, p_vacant boolean
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO rm.location_claim (warehouse_id, branch_id, object_id, location, covers, stream_version, vacant)
    VALUES (p_warehouse, p_branch, p_object, p_location, rm.location_range(p_lower, p_upper, '[)'), p_version, p_vacant)
    ON CONFLICT ON CONSTRAINT location_claim_overlap DO NOTHING;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'location overlaps a claim' USING ERRCODE = 'exclusion_violation',
              SCHEMA = 'rm', TABLE = 'location_claim', CONSTRAINT = 'location_claim_overlap';
    END IF;
END $$;
