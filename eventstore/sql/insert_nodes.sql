INSERT INTO es.merkle_node (level, index, hash)
SELECT u.level, u.index, u.hash FROM unnest($1::smallint[], $2::bigint[], $3::bytea[]) AS u(level, index, hash)
