-- The keys of a table as statements for @table@. The primary key that is there,
-- on the table named by $3, takes its original's name, or makes way for it where
-- the original lists its columns in another order; checks came with the columns.
SELECT CASE
           WHEN c.contype <> 'p' THEN format('ALTER TABLE @table@ ADD CONSTRAINT %I %s', c.conname, pg_get_constraintdef(c.oid))
           WHEN pg_get_constraintdef(k.oid) = pg_get_constraintdef(c.oid) THEN
                format('ALTER TABLE @table@ RENAME CONSTRAINT %I TO %I', k.conname, c.conname)
           ELSE format('ALTER TABLE @table@ DROP CONSTRAINT %I, ADD CONSTRAINT %I %s', k.conname, c.conname, pg_get_constraintdef(c.oid))
       END
  FROM pg_catalog.pg_constraint c
  LEFT JOIN pg_catalog.pg_constraint k ON k.conrelid = $3::text::regclass AND k.contype = 'p'
 WHERE c.conrelid = (quote_ident($1) || '.' || quote_ident($2))::regclass AND c.contype IN ('p', 'u', 'x')
 ORDER BY array_position('{p,u,x}', c.contype::text), c.conname
