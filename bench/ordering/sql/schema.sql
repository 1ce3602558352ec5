CREATE SCHEMA o;
CREATE TABLE o.stream (id uuid PRIMARY KEY, version bigint NOT NULL) WITH (fillfactor = 70);
CREATE TABLE o.event (
    id      bigserial PRIMARY KEY,
    stream  uuid   NOT NULL,
    version bigint NOT NULL,
    data    bytea  NOT NULL,
    UNIQUE (stream, version)
);
CREATE TABLE o.counter (one boolean PRIMARY KEY DEFAULT true, n bigint NOT NULL) WITH (fillfactor = 10);
CREATE TABLE o.ordered (
    position bigint PRIMARY KEY,
    stream   uuid   NOT NULL,
    version  bigint NOT NULL,
    data     bytea  NOT NULL,
    UNIQUE (stream, version)
);
INSERT INTO o.counter (n) VALUES (0);
GRANT USAGE ON SCHEMA o TO icecore_app;
GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA o TO icecore_app;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA o TO icecore_app;
