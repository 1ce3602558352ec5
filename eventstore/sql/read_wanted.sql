-- The events of a page of entries but those of some types. The range prunes the
-- partitions.
SELECT append_seq, ordinal, commit_size, event_id, stream_id, stream_type, version, type, data_schema,
       occurred_at, actor, request_id, causation, commit_id, warehouse, project, traceparent, data, data_sha256
  FROM es.event
 WHERE append_seq BETWEEN $1 AND $2 AND append_seq = ANY ($3::bigint[]) AND type <> ALL ($4::text[])
