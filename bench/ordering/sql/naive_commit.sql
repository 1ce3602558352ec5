WITH g AS (
    UPDATE o.stream SET version = version + 1 WHERE id = $1 AND version = $2 RETURNING version
)
INSERT INTO o.event (stream, version, data) SELECT $1, g.version, $3 FROM g
