-- Tables of runs that began more than $2 hours ago and that this role may drop.
SELECT relname::text
  FROM pg_catalog.pg_class
 WHERE relnamespace = to_regnamespace($1) AND relkind = 'r' AND pg_has_role(relowner, 'USAGE')
   AND relname ~ '_[0-9a-f]{16}$'
   AND substr(right(relname, 16), 1, 8) < lpad(to_hex(extract(epoch FROM clock_timestamp())::bigint - 3600 * $2::bigint), 8, '0')
