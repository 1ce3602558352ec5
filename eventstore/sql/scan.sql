-- One statement, hence one snapshot: what is new above $1, what appeared in
-- the holes $2 (between $3 and $4, their bounds), and whether that snapshot is
-- proof for candidate transaction $5. $6 limits the new rows. The repair
-- decision of a commit and the last sequenced version of the stream come along.
SELECT pg_snapshot_xmin(pg_current_snapshot()) > $5::xid8 AS proved,
       e.append_seq, e.ordinal, e.commit_size, e.event_id, e.stream_id, e.stream_type, e.version, e.type,
       e.data_schema, e.occurred_at, e.actor, e.request_id, e.causation, e.commit_id, e.warehouse, e.project,
       e.data_sha256,
       coalesce((SELECT max(l.version) FROM es.log_entry l WHERE l.stream_id = e.stream_id), 0),
       coalesce((SELECT r.decision FROM es.repair r WHERE r.append_seq = e.append_seq), '')
  FROM (SELECT 1) one
  LEFT JOIN LATERAL (
        (SELECT append_seq, ordinal, commit_size, event_id, stream_id, stream_type, version, type, data_schema,
               occurred_at, actor, request_id, causation, commit_id, warehouse, project, data_sha256
           FROM es.event
          WHERE append_seq > $1
          ORDER BY append_seq, ordinal LIMIT $6)
        UNION ALL
        SELECT append_seq, ordinal, commit_size, event_id, stream_id, stream_type, version, type, data_schema,
               occurred_at, actor, request_id, causation, commit_id, warehouse, project, data_sha256
          FROM es.event
         WHERE append_seq = ANY ($2::bigint[]) AND append_seq BETWEEN $3 AND $4
       ) e ON true
 ORDER BY e.append_seq, e.ordinal
