-- seal.sql for a commit of one event: the same last statement, without arrays.
INSERT INTO es.event (append_seq, ordinal, commit_size, event_id, stream_id, stream_type, version, type,
       data_schema, occurred_at, actor, request_id, causation, commit_id, warehouse, project, traceparent,
       data, data_sha256)
VALUES (nextval('es.append_seq'), 0, 1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $1, $12, $13, $14,
       $15::bytea, sha256($15::bytea))
RETURNING append_seq
