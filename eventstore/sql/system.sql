-- What tells one history of the database from another. After a promotion the
-- name of the current WAL file shows the new timeline at once.
SELECT (SELECT system_identifier FROM pg_control_system()), left(pg_walfile_name(pg_current_wal_lsn()), 8)
