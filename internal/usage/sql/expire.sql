-- Removes a page of hours that ended before a time.
DELETE FROM ops.endpoint_statistics s
 WHERE s.ctid = ANY (ARRAY(SELECT x.ctid FROM ops.endpoint_statistics x WHERE x.until < $1 ORDER BY x.until LIMIT $2))
