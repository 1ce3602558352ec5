-- The table or view that lives under a table-uuid, which is the client's.
SELECT t.tabular_id FROM rm.tabular t WHERE t.table_uuid = $1 AND t.warehouse_id = $2 AND t.branch_id = $3
