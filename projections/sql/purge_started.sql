-- What was announced when the purge of an object started, the last time. As in
-- taken_over.sql every read of the event table carries a range.
SELECT type, data_schema, data
  FROM (
       SELECT l.version, e.type, e.data_schema, e.data
         FROM es.log_entry l
        CROSS JOIN LATERAL (
              SELECT x.type, x.data_schema, x.data FROM es.event x WHERE x.append_seq = l.append_seq AND x.ordinal = l.ordinal
              OFFSET 0) e
        WHERE l.stream_id = $1
        UNION ALL
       SELECT e.version, e.type, e.data_schema, e.data
         FROM es.event e
        WHERE e.append_seq > (SELECT seen FROM es.log_head) AND e.stream_id = $1
        UNION ALL
       SELECT e.version, e.type, e.data_schema, e.data
         FROM es.event e
        WHERE e.append_seq = ANY ((SELECT holes FROM es.log_head)::bigint[]) AND e.stream_id = $1
       ) e
 WHERE type IN ('dev.icecore.table.purge-started', 'dev.icecore.view.purge-started')
 ORDER BY version DESC
 LIMIT 1
