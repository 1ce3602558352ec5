-- Last statement of every append. Nothing after it can wait or fail on
-- another commit, so the number that it draws keeps the order in which locks
-- were granted (law 9). One number for the whole commit.
WITH s AS MATERIALIZED (SELECT nextval('es.append_seq') AS n)
INSERT INTO es.event (append_seq, ordinal, commit_size, event_id, stream_id, stream_type, version, type,
       data_schema, occurred_at, actor, request_id, causation, commit_id, warehouse, project, traceparent,
       data, data_sha256)
SELECT s.n, u.ordinal - 1, $2, u.event_id, u.stream_id, u.stream_type, u.version, u.type,
       u.data_schema, u.occurred_at, u.actor, u.request_id, u.causation, $1, u.warehouse, u.project, u.traceparent,
       u.data, sha256(u.data)
  FROM s CROSS JOIN unnest($3::uuid[], $4::uuid[], $5::text[], $6::bigint[], $7::text[], $8::text[],
       $9::timestamptz[], $10::uuid[], $11::uuid[], $12::uuid[], $13::uuid[], $14::uuid[], $15::text[],
       $16::bytea[]) WITH ORDINALITY
       AS u(event_id, stream_id, stream_type, version, type, data_schema, occurred_at, actor, request_id,
            causation, warehouse, project, traceparent, data, ordinal)
RETURNING append_seq
