DELETE FROM cache.document d
 USING (
    SELECT object_id, mark
      FROM cache.document o
     WHERE saved_at < $1
       AND NOT EXISTS (SELECT FROM es.stream s WHERE s.stream_id = o.object_id AND s.mark = o.mark AND NOT s.closed)
     ORDER BY saved_at
     LIMIT $2
 ) old
 WHERE d.object_id = old.object_id AND d.mark = old.mark
