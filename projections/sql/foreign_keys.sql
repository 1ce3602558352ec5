-- The foreign keys of a table as statements that make them again, unchecked.
SELECT format('ALTER TABLE %I.%I ADD CONSTRAINT %I %s NOT VALID', $1::text, $2::text, conname, replace(pg_get_constraintdef(oid), ' NOT VALID', ''))
  FROM pg_catalog.pg_constraint
 WHERE conrelid = (quote_ident($1) || '.' || quote_ident($2))::regclass AND contype = 'f'
 ORDER BY conname
