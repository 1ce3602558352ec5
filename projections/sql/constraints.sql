-- The keys of a table as statements for @table@. The primary key that is there,
-- on the table named by $3, takes its original's name; checks came with the
-- columns.
SELECT CASE contype
           WHEN 'p' THEN format('ALTER TABLE @table@ RENAME CONSTRAINT %I TO %I', (
                SELECT k.conname FROM pg_catalog.pg_constraint k WHERE k.conrelid = $3::text::regclass AND k.contype = 'p'), conname)
           ELSE format('ALTER TABLE @table@ ADD CONSTRAINT %I %s', conname, pg_get_constraintdef(oid))
       END
  FROM pg_catalog.pg_constraint
 WHERE conrelid = (quote_ident($1) || '.' || quote_ident($2))::regclass AND contype IN ('p', 'u', 'x')
 ORDER BY array_position('{p,u,x}', contype::text), conname
