SELECT n.level, n.index, n.hash
  FROM es.merkle_node n JOIN unnest($1::smallint[], $2::bigint[]) AS u(level, index)
    ON n.level = u.level AND n.index = u.index
