SELECT report_id, warehouse_id, table_id, received_at, actor_id, report_type, snapshot_id, report
  FROM ops.metrics_report
 WHERE table_id = $1
   AND report_id < $2
   AND ($3::text = '' OR report_type = $3)
   AND ($4::bigint IS NULL OR snapshot_id = $4)
 ORDER BY report_id DESC
 LIMIT $5
