INSERT INTO es.event (append_seq, ordinal, commit_size, event_id, stream_id, stream_type, version, type, data_schema,
       occurred_at, commit_id, data, data_sha256)
SELECT nextval('es.append_seq'), 0, 1, $2, $3, 'table', $4, 'dev.icecore.table.committed',
       'urn:icecore:events:table.committed:v1', now(), $1, $5, sha256($5)
