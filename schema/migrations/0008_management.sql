-- What the management API keeps (design section 5). Projects get the id by
-- which callers name them, warehouses what a drop in them means. Two read
-- models follow the log by position and not in the commits: the index that
-- tables and views are searched in, and how many a warehouse held in each hour.
-- What was asked of the server is counted in memory and added up in ops.

-- The default project is named by the nil UUID, every other one by the id of
-- its stream, unless its creator chose another.
ALTER TABLE rm.project ADD COLUMN ident text COLLATE "C";
UPDATE rm.project
   SET ident = CASE project_id WHEN '00000000-0000-7000-8000-0000000000d0' THEN '00000000-0000-0000-0000-000000000000' ELSE project_id::text END;
ALTER TABLE rm.project ALTER COLUMN ident SET NOT NULL;
ALTER TABLE rm.project ADD CONSTRAINT project_ident_key UNIQUE (ident);

-- How long a dropped object can come back; null where a drop is for good.
ALTER TABLE rm.warehouse ADD COLUMN expiration_seconds bigint;

CREATE SCHEMA IF NOT EXISTS ops;
GRANT USAGE ON SCHEMA ops TO :app;

-- How far a reader of the log has come.
CREATE TABLE ops.cursor (
    reader   text   NOT NULL,
    position bigint NOT NULL,
    CONSTRAINT cursor_pkey PRIMARY KEY (reader)
);
GRANT SELECT, INSERT, UPDATE ON ops.cursor TO :app;
INSERT INTO ops.cursor (reader, position) VALUES ('read-models', 0);

-- The trigrams of the dotted path of each table and view. Names are not
-- repeated here: a search reads those that stand now.
CREATE TABLE rm.tabular_search (
    warehouse_id   uuid               NOT NULL,
    branch_id      uuid               NOT NULL,
    tabular_id     uuid               NOT NULL,
    trigrams       text[] COLLATE "C" NOT NULL,
    stream_version bigint             NOT NULL, -- of the row that has the name
    CONSTRAINT tabular_search_pkey PRIMARY KEY (tabular_id, warehouse_id, branch_id) -- see the note on keys in 0003
);
CREATE INDEX tabular_search_trigrams ON rm.tabular_search USING gin (trigrams);
GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON rm.tabular_search TO :app;

-- One row for each hour in which a number changed: what it was at the last
-- change. until is the end of the hour, by the log's own time.
CREATE TABLE rm.warehouse_statistics (
    warehouse_id uuid        NOT NULL,
    until        timestamptz NOT NULL,
    tables       bigint      NOT NULL,
    views        bigint      NOT NULL,
    updated_at   timestamptz NOT NULL, -- log time of the last change
    position     bigint      NOT NULL, -- of the event that last changed it
    CONSTRAINT warehouse_statistics_pkey PRIMARY KEY (warehouse_id, until)
);
GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON rm.warehouse_statistics TO :app;

-- rm.trigram_distance is 1 minus the trigrams in common by all of both.
CREATE FUNCTION rm.trigram_distance(p_one text[], p_other text[]) RETURNS real
LANGUAGE sql IMMUTABLE AS $$
    SELECT (1 - c.common::real / (cardinality(p_one) + cardinality(p_other) - c.common))::real
      FROM (SELECT count(*) AS common FROM unnest(p_one) g WHERE g = ANY (p_other)) c
$$;

-- rm.search_tabulars ranks the tables and views of a warehouse by how much the
-- trigrams of their path have in common with those given: distance is 1 minus
-- common ones by all, as pg_trgm has it. It looks no further than it must. What
-- has all the trigrams is found and ranked by the index and a count; then what
-- has all of one part in five, which is everything that at most four trigrams
-- are missing in, and a slip of the keyboard breaks three or four; then, if that
-- was little, what has any. The latter two stop at a number of candidates.
-- Readers keep the planner from bitmaps, which an inverted index cannot do
-- without, hence the setting.
CREATE FUNCTION rm.search_tabulars(p_warehouse uuid, p_branch uuid, p_trigrams text[], p_limit integer)
RETURNS TABLE (tabular_id uuid, distance real)
LANGUAGE plpgsql STABLE SET enable_bitmapscan = on AS $$
DECLARE
    v_all   integer := cardinality(p_trigrams);
    v_found integer;
    v_more  integer;
BEGIN
    IF v_all = 0 THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT s.tabular_id, (1 - v_all::real / cardinality(s.trigrams))::real
      FROM rm.tabular_search s
     WHERE s.trigrams @> p_trigrams AND s.warehouse_id = p_warehouse AND s.branch_id = p_branch
     ORDER BY 2, s.tabular_id
     LIMIT p_limit;
    GET DIAGNOSTICS v_found = ROW_COUNT;
    IF v_found = p_limit THEN
        RETURN;
    END IF;
    IF v_all >= 5 THEN
        RETURN QUERY
        SELECT n.tabular_id, rm.trigram_distance(n.trigrams, p_trigrams)
          FROM (SELECT s.tabular_id, s.trigrams
                  FROM rm.tabular_search s
                 WHERE (s.trigrams @> p_trigrams[1:v_all / 5] OR s.trigrams @> p_trigrams[v_all / 5 + 1:v_all * 2 / 5]
                        OR s.trigrams @> p_trigrams[v_all * 2 / 5 + 1:v_all * 3 / 5] OR s.trigrams @> p_trigrams[v_all * 3 / 5 + 1:v_all * 4 / 5]
                        OR s.trigrams @> p_trigrams[v_all * 4 / 5 + 1:v_all])
                   AND NOT s.trigrams @> p_trigrams AND s.warehouse_id = p_warehouse AND s.branch_id = p_branch
                 LIMIT 20000) n
         ORDER BY 2, n.tabular_id
         LIMIT p_limit - v_found;
        GET DIAGNOSTICS v_more = ROW_COUNT;
        v_found := v_found + v_more;
        IF v_found >= least(10, p_limit) THEN
            RETURN;
        END IF;
    END IF;
    RETURN QUERY
    SELECT n.tabular_id, rm.trigram_distance(n.trigrams, p_trigrams)
      FROM (SELECT s.tabular_id, s.trigrams
              FROM rm.tabular_search s
             WHERE s.trigrams && p_trigrams AND NOT s.trigrams @> p_trigrams
               AND (v_all < 5 OR NOT (s.trigrams @> p_trigrams[1:v_all / 5] OR s.trigrams @> p_trigrams[v_all / 5 + 1:v_all * 2 / 5]
                    OR s.trigrams @> p_trigrams[v_all * 2 / 5 + 1:v_all * 3 / 5] OR s.trigrams @> p_trigrams[v_all * 3 / 5 + 1:v_all * 4 / 5]
                    OR s.trigrams @> p_trigrams[v_all * 4 / 5 + 1:v_all]))
               AND s.warehouse_id = p_warehouse AND s.branch_id = p_branch
             LIMIT 20000) n
     ORDER BY 2, n.tabular_id
     LIMIT p_limit - v_found;
END $$;

-- What was asked of the server, hour by hour: added up from the counters of
-- all instances. until is the end of the hour.
CREATE TABLE ops.endpoint_statistics (
    until        timestamptz NOT NULL,
    project_id   uuid        NOT NULL,
    warehouse_id uuid,       -- null where a request is about no warehouse
    route        text        NOT NULL, -- method and path, e.g. GET /management/v1/info
    status       smallint    NOT NULL, -- HTTP status
    requests     bigint      NOT NULL,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz,
    CONSTRAINT endpoint_statistics_key UNIQUE NULLS NOT DISTINCT (project_id, until, warehouse_id, route, status)
);
CREATE INDEX endpoint_statistics_age ON ops.endpoint_statistics (until);
GRANT SELECT, INSERT, UPDATE, DELETE ON ops.endpoint_statistics TO :app;
