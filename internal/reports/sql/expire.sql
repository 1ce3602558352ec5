-- Ids ascend with time, so the oldest rows are the first of the primary key.
-- Instances that expire at the same moment take different rows.
DELETE FROM ops.metrics_report r
 USING (
    SELECT report_id
      FROM ops.metrics_report
     WHERE report_id < $1
     ORDER BY report_id
     LIMIT $2
       FOR UPDATE SKIP LOCKED
 ) old
 WHERE r.report_id = old.report_id
