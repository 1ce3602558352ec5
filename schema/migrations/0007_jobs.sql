-- Jobs (design section 6), schema river: what River's own migrations 1 to 8 make
-- in the end, taken over as one step so that the database has one migration tool.
-- A test holds it against those of the linked version. Its defaults call now();
-- these tables are operational, nothing is derived from them.

CREATE SCHEMA river;
GRANT USAGE ON SCHEMA river TO :app;

CREATE TABLE river.river_migration (
    line       text        NOT NULL,
    version    bigint      NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT line_length CHECK (char_length(line) > 0 AND char_length(line) < 128),
    CONSTRAINT version_gte_1 CHECK (version >= 1),
    PRIMARY KEY (line, version)
);
INSERT INTO river.river_migration (line, version) SELECT 'main', v FROM generate_series(1, 8) AS v;

CREATE TYPE river.river_job_state AS ENUM (
    'available', 'cancelled', 'completed', 'discarded', 'pending', 'retryable', 'running', 'scheduled'
);

CREATE TABLE river.river_job (
    id            bigserial             PRIMARY KEY,
    state         river.river_job_state NOT NULL DEFAULT 'available',
    attempt       smallint              NOT NULL DEFAULT 0,
    max_attempts  smallint              NOT NULL DEFAULT 25,
    attempted_at  timestamptz,
    created_at    timestamptz           NOT NULL DEFAULT now(),
    finalized_at  timestamptz,
    scheduled_at  timestamptz           NOT NULL DEFAULT now(),
    priority      smallint              NOT NULL DEFAULT 1,
    args          jsonb                 NOT NULL,
    attempted_by  text[],
    errors        jsonb[],
    kind          text                  NOT NULL,
    metadata      jsonb                 NOT NULL DEFAULT '{}',
    queue         text                  NOT NULL DEFAULT 'default',
    tags          varchar(255)[]        NOT NULL DEFAULT '{}',
    unique_key    bytea,
    unique_states bit(8),
    CONSTRAINT finalized_or_finalized_at_null CHECK (
        (finalized_at IS NULL AND state NOT IN ('cancelled', 'completed', 'discarded')) OR
        (finalized_at IS NOT NULL AND state IN ('cancelled', 'completed', 'discarded'))),
    CONSTRAINT max_attempts_is_positive CHECK (max_attempts > 0),
    CONSTRAINT priority_in_range CHECK (priority >= 1 AND priority <= 4),
    CONSTRAINT queue_length CHECK (char_length(queue) > 0 AND char_length(queue) < 128),
    CONSTRAINT kind_length CHECK (char_length(kind) > 0 AND char_length(kind) < 128)
);
CREATE INDEX river_job_kind ON river.river_job USING btree (kind);
CREATE INDEX river_job_state_and_finalized_at_index ON river.river_job USING btree (state, finalized_at) WHERE finalized_at IS NOT NULL;
CREATE INDEX river_job_prioritized_fetching_index ON river.river_job USING btree (state, queue, priority, scheduled_at, id);
CREATE INDEX river_job_args_index ON river.river_job USING gin (args);
CREATE INDEX river_job_metadata_index ON river.river_job USING gin (metadata);

CREATE FUNCTION river.river_job_state_in_bitmask(bitmask bit(8), state river.river_job_state) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE state
        WHEN 'available' THEN get_bit(bitmask, 7)
        WHEN 'cancelled' THEN get_bit(bitmask, 6)
        WHEN 'completed' THEN get_bit(bitmask, 5)
        WHEN 'discarded' THEN get_bit(bitmask, 4)
        WHEN 'pending'   THEN get_bit(bitmask, 3)
        WHEN 'retryable' THEN get_bit(bitmask, 2)
        WHEN 'running'   THEN get_bit(bitmask, 1)
        WHEN 'scheduled' THEN get_bit(bitmask, 0)
        ELSE 0
    END = 1;
$$;
CREATE UNIQUE INDEX river_job_unique_idx ON river.river_job (unique_key)
    WHERE unique_key IS NOT NULL AND unique_states IS NOT NULL AND river.river_job_state_in_bitmask(unique_states, state);

CREATE UNLOGGED TABLE river.river_leader (
    elected_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    leader_id  text        NOT NULL,
    name       text        PRIMARY KEY DEFAULT 'default',
    CONSTRAINT name_length CHECK (name = 'default'),
    CONSTRAINT leader_id_length CHECK (char_length(leader_id) > 0 AND char_length(leader_id) < 128)
);

CREATE TABLE river.river_queue (
    name       text        PRIMARY KEY NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    metadata   jsonb       NOT NULL DEFAULT '{}',
    paused_at  timestamptz,
    updated_at timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE river.river_notification (
    id         bigserial   PRIMARY KEY,
    created_at timestamptz NOT NULL DEFAULT now(),
    payload    text        NOT NULL,
    topic      text        NOT NULL,
    CONSTRAINT topic_length CHECK (length(topic) > 0 AND length(topic) < 128)
);
CREATE INDEX river_notification_created_at_idx ON river.river_notification (created_at);
CREATE INDEX river_notification_topic_id_idx ON river.river_notification (topic, id);

GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA river TO :app;
REVOKE INSERT, UPDATE, DELETE ON river.river_migration FROM :app;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA river TO :app;

-- What was dropped and still holds locations: nothing else needs a row. An object
-- whose files wait to be purged is dormant until they are gone; purging says that
-- the first of them may be gone.
DELETE FROM rm.dropped WHERE NOT purge_requested AND expires_at IS NULL;
UPDATE es.stream SET closed = false, dormant = true
 WHERE stream_id IN (SELECT object_id FROM rm.dropped WHERE expires_at IS NULL) AND closed;
ALTER TABLE rm.dropped ADD COLUMN purging boolean NOT NULL DEFAULT false;
ALTER TABLE rm.dropped ALTER COLUMN purging DROP DEFAULT;
-- Who holds a location, among the dropped; and whose files a job has to delete.
CREATE INDEX dropped_purge ON rm.dropped (object_id) WHERE purge_requested AND expires_at IS NULL;
