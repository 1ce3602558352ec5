-- Repeating a page whose answer was lost adds nothing.
INSERT INTO ops.metrics_report (report_id, warehouse_id, table_id, received_at, actor_id, report_type, snapshot_id, report)
SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::timestamptz[], $5::uuid[], $6::text[], $7::bigint[], $8::text[])
ON CONFLICT (report_id) DO NOTHING
