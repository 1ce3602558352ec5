-- The indexes of a table that belong to no constraint, as statements for
-- @table@.
SELECT replace(pg_get_indexdef(i.indexrelid), ' ON ' || quote_ident($1) || '.' || quote_ident($2) || ' ', ' ON @table@ ')
  FROM pg_catalog.pg_index i
 WHERE i.indrelid = (quote_ident($1) || '.' || quote_ident($2))::regclass
   AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c WHERE c.conindid = i.indexrelid AND c.contype IN ('p', 'u', 'x'))
 ORDER BY i.indexrelid::regclass::text
