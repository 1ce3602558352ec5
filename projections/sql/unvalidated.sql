-- Statements that check the foreign keys of a table that were not.
SELECT format('ALTER TABLE %I.%I VALIDATE CONSTRAINT %I', $1::text, $2::text, conname)
  FROM pg_catalog.pg_constraint
 WHERE conrelid = (quote_ident($1) || '.' || quote_ident($2))::regclass AND contype = 'f' AND NOT convalidated
 ORDER BY conname
