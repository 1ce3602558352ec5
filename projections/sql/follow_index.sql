-- The trigrams of a table or view.
INSERT INTO rm.tabular_search (warehouse_id, branch_id, tabular_id, trigrams, stream_version) VALUES ($1, $2, $3, $4, $5)
