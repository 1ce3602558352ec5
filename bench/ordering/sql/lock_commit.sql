WITH g AS (
    UPDATE o.stream SET version = version + 1 WHERE id = $1 AND version = $2 RETURNING version
), c AS (
    UPDATE o.counter SET n = n + 1 FROM g RETURNING n
)
INSERT INTO o.ordered (position, stream, version, data) SELECT c.n, $1, g.version, $3 FROM g, c
