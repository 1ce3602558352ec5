-- What can come back (design section 4): a table or view that was dropped
-- softly stands in rm.dropped with the time at which it expires; a namespace that
-- was dropped with all that stood in it stands in rm.dropped_namespace, and what
-- was dropped with it names it as its drop_root.

ALTER TABLE rm.dropped ADD COLUMN drop_root uuid; -- null where the object was dropped by itself, or its time is over
ALTER TABLE rm.dropped ADD CONSTRAINT dropped_warehouse_fk FOREIGN KEY (warehouse_id) REFERENCES rm.warehouse (warehouse_id);
-- For lists of a namespace, and whether one holds what can come back. See the
-- note on keys in 0003.
CREATE INDEX dropped_listing ON rm.dropped (namespace_id, object_id, warehouse_id, branch_id) WHERE expires_at IS NOT NULL;
CREATE INDEX dropped_tree ON rm.dropped (drop_root, object_id, warehouse_id, branch_id) WHERE drop_root IS NOT NULL;

CREATE TABLE rm.dropped_namespace (
    warehouse_id    uuid        NOT NULL,
    branch_id       uuid        NOT NULL,
    namespace_id    uuid        NOT NULL,
    drop_root       uuid        NOT NULL, -- the namespace that was dropped; of that its own id
    parent_id       uuid,                 -- null at the top
    levels          text[]      NOT NULL, -- as they were
    properties      text        NOT NULL, -- JSON object, verbatim from the event
    purge_requested boolean     NOT NULL,
    dropped_at      timestamptz NOT NULL, -- time of the event
    expires_at      timestamptz NOT NULL,
    drop_event      uuid        NOT NULL, -- an expiry acts only on the drop that it was made for
    stream_version  bigint      NOT NULL, -- of the root
    CONSTRAINT dropped_namespace_pkey PRIMARY KEY (namespace_id, warehouse_id, branch_id),
    CONSTRAINT dropped_namespace_warehouse_fk FOREIGN KEY (warehouse_id) REFERENCES rm.warehouse (warehouse_id)
);
CREATE INDEX dropped_namespace_tree ON rm.dropped_namespace (drop_root, namespace_id, warehouse_id, branch_id);
CREATE INDEX dropped_namespace_parent ON rm.dropped_namespace (parent_id, warehouse_id, branch_id) WHERE namespace_id = drop_root;
CREATE INDEX dropped_namespace_listing ON rm.dropped_namespace (warehouse_id, branch_id, namespace_id) WHERE namespace_id = drop_root;
GRANT SELECT, INSERT, UPDATE, DELETE ON rm.dropped_namespace TO :app;

-- rm.vacate refuses to end a namespace in which something stood that can come
-- back: its name would lead nowhere. It runs when the namespace is locked, and a
-- soft drop holds its namespace, so that nothing slips in between.
CREATE FUNCTION rm.vacate(p_warehouse uuid, p_branch uuid, p_namespace uuid) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM rm.dropped d
                WHERE d.namespace_id = p_namespace AND d.warehouse_id = p_warehouse AND d.branch_id = p_branch AND d.expires_at IS NOT NULL)
       OR EXISTS (SELECT FROM rm.dropped_namespace d
                   WHERE d.parent_id = p_namespace AND d.warehouse_id = p_warehouse AND d.branch_id = p_branch AND d.namespace_id = d.drop_root) THEN
        RAISE EXCEPTION 'something can come back into the namespace' USING ERRCODE = 'foreign_key_violation',
              SCHEMA = 'rm', TABLE = 'dropped', CONSTRAINT = 'dropped_namespace_vacant';
    END IF;
END $$;

-- The objects of a tree share the event of their drop, so that a lease of it is
-- one object's (see 0009).
ALTER TABLE ops.purge_lease DROP CONSTRAINT purge_lease_pkey;
ALTER TABLE ops.purge_lease ADD CONSTRAINT purge_lease_pkey PRIMARY KEY (drop_event, object_id);
