-- The plain commits that go together (migration 0004 says how).
SELECT winner, number
  FROM es.append_shared($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
