-- A page of the log: $2 entries behind $1, and the events of those that are
-- admitted, as far as their data fits into $3 bytes; the first that is admitted
-- always does. An empty list admits everything, and what the log tells about
-- itself is admitted by all. Where the event is missing, admitted is null. The
-- range prunes the partitions.
WITH page AS MATERIALIZED (
    SELECT position, append_seq, ordinal, epoch, logtime, leaf
      FROM es.log_entry WHERE position > $1 ORDER BY position LIMIT $2
), span AS MATERIALIZED (
    SELECT min(append_seq) AS low, max(append_seq) AS high FROM page
), met AS (
    SELECT l.position, l.epoch, l.logtime, l.leaf, l.append_seq, l.ordinal, v.admitted,
           e.commit_size, e.event_id, e.stream_id, e.stream_type, e.version, e.type, e.data_schema, e.occurred_at,
           e.actor, e.request_id, e.causation, e.commit_id, e.warehouse, e.project, e.traceparent, e.data, e.data_sha256,
           sum(CASE WHEN v.admitted THEN coalesce(octet_length(e.data), 0) ELSE 0 END) OVER upto AS bytes,
           count(*) FILTER (WHERE v.admitted) OVER upto AS rank
      FROM page l
      LEFT JOIN es.event e
        ON e.append_seq = l.append_seq AND e.ordinal = l.ordinal
       AND e.append_seq BETWEEN (SELECT low FROM span) AND (SELECT high FROM span)
     CROSS JOIN LATERAL (
           SELECT CASE WHEN e.event_id IS NOT NULL THEN e.stream_type = 'log' OR
                      (cardinality($4::uuid[]) = 0 OR (e.project = ANY ($4::uuid[])) IS TRUE)
                  AND (cardinality($5::uuid[]) = 0 OR (e.warehouse = ANY ($5::uuid[])) IS TRUE)
                  AND (cardinality($6::text[]) = 0 OR e.stream_type = ANY ($6::text[]))
                  AND (cardinality($7::text[]) = 0 OR e.type = ANY ($7::text[]))
                  END AS admitted
     ) v
    WINDOW upto AS (ORDER BY l.position ROWS UNBOUNDED PRECEDING)
)
SELECT position, epoch, logtime, leaf, admitted, append_seq, ordinal, commit_size, event_id, stream_id, stream_type, version, type, data_schema,
       occurred_at, actor, request_id, causation, commit_id, warehouse, project, traceparent, CASE WHEN admitted THEN data END, data_sha256
  FROM met
 WHERE bytes <= $3 OR rank <= 1
 ORDER BY position
