-- The oldest of the $1 newest reports; no row if there are not that many.
SELECT report_id FROM ops.metrics_report ORDER BY report_id DESC OFFSET $1::bigint - 1 LIMIT 1
