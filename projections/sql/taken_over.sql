-- Whether a stream's state ever came from elsewhere: by registration, anew or
-- over what was there. What has a position is found through es.log_entry, what
-- has none yet above the highest number met or in its holes: every read of the
-- event table carries a range.
SELECT EXISTS (
           SELECT FROM es.log_entry l
            CROSS JOIN LATERAL (
                  SELECT x.type FROM es.event x WHERE x.append_seq = l.append_seq AND x.ordinal = l.ordinal
                  OFFSET 0) e
            WHERE l.stream_id = $1 AND e.type IN ('dev.icecore.table.registered', 'dev.icecore.view.registered'))
    OR EXISTS (
           SELECT FROM es.event e
            WHERE e.append_seq > (SELECT seen FROM es.log_head)
              AND e.stream_id = $1 AND e.type IN ('dev.icecore.table.registered', 'dev.icecore.view.registered'))
    OR EXISTS (
           SELECT FROM es.event e
            WHERE e.append_seq = ANY ((SELECT holes FROM es.log_head)::bigint[])
              AND e.stream_id = $1 AND e.type IN ('dev.icecore.table.registered', 'dev.icecore.view.registered'))
