-- What others than the owner may do with a table, as statements for @table@.
SELECT format('GRANT %s ON @table@ TO %s%s', a.privilege_type,
              CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END,
              CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
  FROM pg_catalog.pg_class c, aclexplode(c.relacl) a
 WHERE c.oid = (quote_ident($1) || '.' || quote_ident($2))::regclass AND a.grantee <> c.relowner
 ORDER BY a.grantee, a.privilege_type
