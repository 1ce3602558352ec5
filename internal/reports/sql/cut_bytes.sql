-- The oldest of the newest reports that have up to $1 bytes together; no row if
-- all have. It looks no further than the first that has no room.
SELECT q.kept
  FROM (SELECT r.report_id, lag(r.report_id, 1, 'ffffffff-ffff-ffff-ffff-ffffffffffff') OVER w AS kept, sum(octet_length(r.report)) OVER w AS total
          FROM ops.metrics_report r WINDOW w AS (ORDER BY r.report_id DESC ROWS UNBOUNDED PRECEDING)) q
 WHERE q.total > $1::bigint
 ORDER BY q.report_id DESC LIMIT 1
