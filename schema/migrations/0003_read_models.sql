-- Inline read models (design section 5), schema rm, and the document cache,
-- schema cache. Everything in rm is derived: it comes from the log alone and
-- `icecore rebuild` makes it anew. Version, metadata pointer and mark of an
-- object live in its guard, es.stream, and nowhere here; stream_version says
-- which event of its stream last changed a row.
--
-- Keys are scoped by (warehouse_id, branch_id). They begin with it only where a
-- name is looked up; all other indexes of a table begin with what tells its
-- rows apart. While statistics are young, the planner takes two columns for as
-- good as four: it looked a table up by its name in the index of uuids, by
-- warehouse and branch alone, and so read the whole warehouse for each load.
--
-- Names are compared by a folded
-- twin whose column carries the version of the folding table (catalog/fold);
-- all text keys are ordered bytewise (COLLATE "C"), for a database's collation
-- drifts. Every refusal is a named constraint that is checked at once: no
-- trigger, nothing deferrable, no default (law 9).

CREATE SCHEMA rm;
GRANT USAGE ON SCHEMA rm TO :app;

CREATE TABLE rm.server (
    one            boolean NOT NULL,
    server_id      uuid    NOT NULL,
    terms_accepted boolean NOT NULL,
    stream_version bigint  NOT NULL,
    CONSTRAINT server_pkey PRIMARY KEY (server_id),
    CONSTRAINT server_one_key UNIQUE (one), -- a server is bootstrapped once
    CONSTRAINT server_one CHECK (one)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON rm.server TO :app;

-- authz_mark is the id of the last event that changed a right in the project,
-- or where an object stands below it: decisions are cached under it.
CREATE TABLE rm.project (
    project_id     uuid   NOT NULL,
    name           text   NOT NULL,
    authz_mark     uuid   NOT NULL,
    stream_version bigint NOT NULL,
    CONSTRAINT project_pkey PRIMARY KEY (project_id)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON rm.project TO :app;

CREATE TABLE rm.warehouse (
    warehouse_id    uuid             NOT NULL,
    project_id      uuid             NOT NULL,
    name            text             NOT NULL,
    name_fold1      text COLLATE "C" NOT NULL,
    active          boolean          NOT NULL,
    protected       boolean          NOT NULL,
    storage_profile text             NOT NULL, -- JSON, verbatim from the event
    default_format  smallint         NOT NULL,
    allowed_formats smallint[]       NOT NULL,
    updated_at      timestamptz      NOT NULL, -- time of the event
    stream_version  bigint           NOT NULL,
    CONSTRAINT warehouse_pkey PRIMARY KEY (warehouse_id),
    CONSTRAINT warehouse_name_key UNIQUE (project_id, name_fold1),
    CONSTRAINT warehouse_project_fk FOREIGN KEY (project_id) REFERENCES rm.project (project_id)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON rm.warehouse TO :app;

-- path_fold1 joins the folded levels with U+001F; name_fold1 is the last one.
CREATE TABLE rm.namespace (
    warehouse_id   uuid             NOT NULL,
    branch_id      uuid             NOT NULL,
    namespace_id   uuid             NOT NULL,
    parent_id      uuid,            -- null at the top
    ancestors      uuid[]           NOT NULL, -- nearest first
    levels         text[]           NOT NULL, -- as created
    path_fold1     text COLLATE "C" NOT NULL,
    name_fold1     text COLLATE "C" NOT NULL,
    protected      boolean          NOT NULL,
    properties     text             NOT NULL, -- JSON object, verbatim from the event
    stream_version bigint           NOT NULL,
    CONSTRAINT namespace_pkey PRIMARY KEY (namespace_id, warehouse_id, branch_id), -- see the note on keys above
    CONSTRAINT namespace_path_key UNIQUE (warehouse_id, branch_id, path_fold1),
    CONSTRAINT namespace_warehouse_fk FOREIGN KEY (warehouse_id) REFERENCES rm.warehouse (warehouse_id),
    CONSTRAINT namespace_parent_fk FOREIGN KEY (warehouse_id, branch_id, parent_id)
        REFERENCES rm.namespace (warehouse_id, branch_id, namespace_id)
);
-- The parent comes first: see the note on keys above.
CREATE INDEX namespace_children ON rm.namespace (parent_id, warehouse_id, branch_id, name_fold1);
GRANT SELECT, INSERT, UPDATE, DELETE ON rm.namespace TO :app;

-- Tables and views share one name space.
CREATE TABLE rm.tabular (
    warehouse_id   uuid             NOT NULL,
    branch_id      uuid             NOT NULL,
    tabular_id     uuid             NOT NULL,
    namespace_id   uuid             NOT NULL,
    kind           text             NOT NULL,
    name           text             NOT NULL,
    name_fold1     text COLLATE "C" NOT NULL,
    table_uuid     uuid             NOT NULL, -- the client's, unique among the living
    protected      boolean          NOT NULL,
    stream_version bigint           NOT NULL,
    CONSTRAINT tabular_pkey PRIMARY KEY (tabular_id, warehouse_id, branch_id), -- see the note on keys above
    CONSTRAINT tabular_name_key UNIQUE (warehouse_id, branch_id, namespace_id, name_fold1),
    CONSTRAINT tabular_uuid_key UNIQUE (table_uuid, warehouse_id, branch_id),
    CONSTRAINT tabular_kind CHECK (kind IN ('table', 'view')),
    CONSTRAINT tabular_namespace_fk FOREIGN KEY (warehouse_id, branch_id, namespace_id)
        REFERENCES rm.namespace (warehouse_id, branch_id, namespace_id)
);
CREATE INDEX tabular_listing ON rm.tabular (namespace_id, kind, name_fold1, warehouse_id, branch_id); -- see the note on keys above
GRANT SELECT, INSERT, UPDATE, DELETE ON rm.tabular TO :app;

-- A claim is the half-open range from "path/" to "path0" of canonical location
-- keys, over all warehouses of a store.
CREATE TYPE rm.location_range AS RANGE (SUBTYPE = text, COLLATION = "C");
GRANT USAGE ON TYPE rm.location_range TO :app;

CREATE TABLE rm.location_claim (
    warehouse_id   uuid              NOT NULL,
    branch_id      uuid              NOT NULL,
    object_id      uuid              NOT NULL,
    location       text COLLATE "C"  NOT NULL, -- canonical key, ends with a slash
    covers         rm.location_range NOT NULL,
    stream_version bigint            NOT NULL,
    CONSTRAINT location_claim_pkey PRIMARY KEY (warehouse_id, branch_id, object_id, location),
    CONSTRAINT location_claim_overlap EXCLUDE USING spgist (covers WITH &&)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON rm.location_claim TO :app;

-- rm.claim adds a claim or is refused by location_claim_overlap. Two plain
-- inserts of overlapping ranges may each put in their index entry, meet the
-- other's and wait for each other; ON CONFLICT looks before it inserts and
-- yields, so that exactly one goes on and nobody deadlocks.
CREATE FUNCTION rm.claim(
    p_warehouse uuid, p_branch uuid, p_object uuid, p_location text, p_upper text, p_version bigint
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO rm.location_claim (warehouse_id, branch_id, object_id, location, covers, stream_version)
    VALUES (p_warehouse, p_branch, p_object, p_location, rm.location_range(p_location, p_upper, '[)'), p_version)
    ON CONFLICT ON CONSTRAINT location_claim_overlap DO NOTHING;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'location overlaps a claim' USING ERRCODE = 'exclusion_violation',
              SCHEMA = 'rm', TABLE = 'location_claim', CONSTRAINT = 'location_claim_overlap';
    END IF;
END $$;

-- Objects whose name is gone: what was dropped, whether its files are to be
-- purged, and until when it can come back. expires_at is null where the drop
-- was final at once.
CREATE TABLE rm.dropped (
    warehouse_id      uuid        NOT NULL,
    branch_id         uuid        NOT NULL,
    object_id         uuid        NOT NULL,
    kind              text        NOT NULL,
    namespace_id      uuid        NOT NULL,
    namespace         text[]      NOT NULL,
    name              text        NOT NULL,
    table_uuid        uuid        NOT NULL,
    metadata_location text        NOT NULL,
    purge_requested   boolean     NOT NULL,
    dropped_at        timestamptz NOT NULL, -- time of the event
    expires_at        timestamptz,
    drop_event        uuid        NOT NULL, -- an expiry acts only on the drop that it was made for
    stream_version    bigint      NOT NULL,
    CONSTRAINT dropped_pkey PRIMARY KEY (warehouse_id, branch_id, object_id)
);
CREATE INDEX dropped_expiry ON rm.dropped (expires_at) WHERE expires_at IS NOT NULL;
GRANT SELECT, INSERT, UPDATE, DELETE ON rm.dropped TO :app;

-- Where rebuild and verify put the tables that they replay the log into, under
-- names of their own run; they drop them at their end. Verify runs as the
-- application, which may create tables here and nowhere else.
CREATE SCHEMA rm_rebuild;
GRANT USAGE, CREATE ON SCHEMA rm_rebuild TO :app;

CREATE SCHEMA cache;
GRANT USAGE ON SCHEMA cache TO :app;

-- Metadata documents by (object, mark), an immutable key. Unlogged: a cache may
-- be empty after a crash, and its bytes have no business in the WAL. The body
-- is compressed already.
CREATE UNLOGGED TABLE cache.document (
    object_id uuid        NOT NULL,
    mark      uuid        NOT NULL,
    form      smallint    NOT NULL, -- 1: raw deflate ended by a full flush
    crc32     bigint      NOT NULL, -- of the document, IEEE
    length    bigint      NOT NULL, -- of the document, bytes
    body      bytea       NOT NULL,
    saved_at  timestamptz NOT NULL,
    CONSTRAINT document_pkey PRIMARY KEY (object_id, mark)
);
ALTER TABLE cache.document ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE INDEX document_age ON cache.document (saved_at);
GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON cache.document TO :app;
