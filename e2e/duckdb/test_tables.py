"""A table's whole life from DuckDB: create, write, alter, read the past, rename, drop."""

import datetime
import decimal
import pathlib
import uuid

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.exceptions import NoSuchTableError


def rows(con, table: str) -> list[tuple]:
    return con.execute(f"SELECT * FROM ice.{table} ORDER BY ALL").fetchall()


def read(catalog, table: str) -> list[tuple]:
    """What PyIceberg reads there."""
    return sorted(tuple(row.values()) for row in catalog.load_table(table).scan().to_arrow().to_pylist())


# What every write below amounts to: a schema, a table (created in two steps, one event), one commit a statement.
@pytest.mark.parametrize("version", ["2", "3"])
def test_insert_update_delete_merge(duck, catalog, journal, schema, version):
    duck.execute(f"CREATE TABLE ice.{schema}.t (id BIGINT, name VARCHAR, amount DOUBLE) WITH ('format-version'='{version}')")
    assert catalog.load_table(f"{schema}.t").format_version == int(version)
    duck.execute(f"INSERT INTO ice.{schema}.t VALUES (1, 'a', 0.5), (2, 'b', 1), (3, 'c', 1.5)")
    assert rows(duck, f"{schema}.t") == [(1, "a", 0.5), (2, "b", 1.0), (3, "c", 1.5)]
    duck.execute(f"UPDATE ice.{schema}.t SET name = 'B' WHERE id = 2")
    duck.execute(f"DELETE FROM ice.{schema}.t WHERE id = 1")
    assert rows(duck, f"{schema}.t") == [(2, "B", 1.0), (3, "c", 1.5)]
    duck.execute(f"""
        MERGE INTO ice.{schema}.t AS t
        USING (SELECT 3 AS id, 'C' AS name, 9.0::DOUBLE AS amount UNION ALL SELECT 4, 'd', 2.0) AS u ON t.id = u.id
        WHEN MATCHED THEN UPDATE SET name = u.name, amount = u.amount
        WHEN NOT MATCHED THEN INSERT VALUES (u.id, u.name, u.amount)""")
    want = [(2, "B", 1.0), (3, "C", 9.0), (4, "d", 2.0)]
    assert rows(duck, f"{schema}.t") == want
    assert read(catalog, f"{schema}.t") == want
    journal.expect("namespace.created", "table.created", *["table.committed"] * 4)
    events = journal.settle()
    assert [u["action"] for u in events[1]["data"]["updates"]][0] == "assign-uuid"
    # The last statement deleted and inserted: two snapshots in one commit.
    assert len(events[-1]["data"]["snapshots"]) == 2


def test_version_1_is_read_only(duck, catalog, journal, schema):
    """DuckDB numbers its snapshots also where the format has no numbers; nobody could read such a table, so it is refused."""
    catalog.create_table(f"{schema}.t", pa.schema([pa.field("id", pa.int64())]), properties={"format-version": "1"}).append(pa.table({"id": [1]}))
    with pytest.raises(duckdb.Error, match="Sequence number must be 0 in v1"):
        duck.execute(f"INSERT INTO ice.{schema}.t VALUES (2)")
    assert rows(duck, f"{schema}.t") == [(1,)]
    journal.expect("namespace.created", "table.created", "table.committed")


def test_create_table_as(ducks, duck, catalog, journal, schema, server):
    """Without any option, and what was staged is what was created."""
    duck.execute(f"CREATE TABLE ice.{schema}.t AS SELECT range AS i, 'v' || range AS v FROM range(1000)")
    assert duck.execute(f"SELECT count(*), sum(i), min(v) FROM ice.{schema}.t").fetchall() == [(1000, 499500, "v0")]
    duck.execute(f"CREATE TABLE ice.{schema}.empty AS SELECT 1 AS i WHERE false")
    assert rows(duck, f"{schema}.empty") == []
    duck.execute(f"CREATE TABLE ice.{schema}.part PARTITIONED BY (p) AS SELECT range AS i, range % 3 AS p FROM range(9)")
    assert duck.execute(f"SELECT p, count(*) FROM ice.{schema}.part GROUP BY p ORDER BY p").fetchall() == [(0, 3), (1, 3), (2, 3)]
    assert catalog.load_table(f"{schema}.part").scan().to_arrow().num_rows == 9
    duck.execute(f"CREATE TABLE ice.{schema}.v3 WITH ('format-version'='3') AS SELECT 7 AS i")
    assert rows(duck, f"{schema}.v3") == [(7,)]
    # Where a table is already, nothing happens to it.
    with pytest.raises(duckdb.Error, match="already exists"):
        duck.execute(f"CREATE TABLE ice.{schema}.t AS SELECT 1 AS i")
    duck.execute(f"CREATE TABLE IF NOT EXISTS ice.{schema}.t AS SELECT 1 AS i")
    other = ducks.connect("STAGE_CREATE_TABLES false")
    other.execute(f"CREATE TABLE ice.{schema}.unstaged AS SELECT 1 AS i")
    assert rows(other, f"{schema}.unstaged") == [(1,)]
    other.close()
    # Unstaged it is created first and filled then.
    journal.expect("namespace.created", *["table.created"] * 5, "table.committed")
    created = journal.settle()[1]["data"]
    assert created["snapshots"][0]["operation"] == "append"
    assert created["metadata-location"].startswith(created["location"] + "/metadata/00000-")


def test_types(duck, catalog, journal, schema):
    duck.execute("SET TimeZone = 'UTC'")
    duck.execute(f"""
        CREATE TABLE ice.{schema}.t (b BOOLEAN, i INTEGER, l BIGINT, f FLOAT, d DOUBLE, de DECIMAL(20, 4), s VARCHAR, bl BLOB, dt DATE, t TIME,
            ts TIMESTAMP, tz TIMESTAMPTZ, u UUID, st STRUCT(a INTEGER, b VARCHAR), li INTEGER[], m MAP(VARCHAR, BIGINT))""")
    duck.execute(f"""
        INSERT INTO ice.{schema}.t VALUES (true, -1, 9007199254740993, 1.5, 2.25, 1234567890123456.7891, 'ünï🧊', '\\xDE\\xAD'::BLOB,
            DATE '2026-02-28', TIME '01:02:03.000004', TIMESTAMP '2026-02-28 12:34:56.789012', TIMESTAMPTZ '2026-02-28 12:34:56.789012+02',
            '00112233-4455-6677-8899-aabbccddeeff', {{'a': 1, 'b': 'x'}}, [1, 2, NULL], MAP {{'k': 1}})""")
    want = (
        True, -1, 9007199254740993, 1.5, 2.25, decimal.Decimal("1234567890123456.7891"), "ünï🧊", b"\xde\xad", datetime.date(2026, 2, 28),
        datetime.time(1, 2, 3, 4), datetime.datetime(2026, 2, 28, 12, 34, 56, 789012),
        datetime.datetime(2026, 2, 28, 10, 34, 56, 789012, datetime.timezone.utc), uuid.UUID("00112233-4455-6677-8899-aabbccddeeff"),
        {"a": 1, "b": "x"}, [1, 2, None], {"k": 1})
    assert rows(duck, f"{schema}.t") == [want]
    duck.execute(f"INSERT INTO ice.{schema}.t (b) VALUES (NULL)")
    got = read_unsorted(catalog, f"{schema}.t")
    assert (None,) * 16 in got and len(got) == 2
    journal.expect("namespace.created", "table.created", "table.committed", "table.committed")


def read_unsorted(catalog, table: str) -> list[tuple]:
    return [tuple(row.values()) for row in catalog.load_table(table).scan().to_arrow().to_pylist()]


def test_alter(duck, catalog, journal, schema):
    duck.execute(f"CREATE TABLE ice.{schema}.t (id INTEGER, name VARCHAR, gone VARCHAR, f FLOAT)")
    duck.execute(f"INSERT INTO ice.{schema}.t VALUES (1, 'a', 'x', 0.5)")
    duck.execute(f"ALTER TABLE ice.{schema}.t ADD COLUMN note VARCHAR")
    duck.execute(f"ALTER TABLE ice.{schema}.t RENAME COLUMN name TO title")
    duck.execute(f"ALTER TABLE ice.{schema}.t DROP COLUMN gone")
    duck.execute(f"ALTER TABLE ice.{schema}.t ALTER COLUMN id TYPE BIGINT")
    duck.execute(f"ALTER TABLE ice.{schema}.t ALTER COLUMN f TYPE DOUBLE")
    duck.execute(f"INSERT INTO ice.{schema}.t VALUES (3000000000, 'b', 1.5, 'n')")
    assert duck.execute(f"SELECT id, title, f, note FROM ice.{schema}.t ORDER BY id").fetchall() == [(1, "a", 0.5, None), (3000000000, "b", 1.5, "n")]
    # A dropped column's name is free for another column, whose id is new: the old values don't come back.
    duck.execute(f"ALTER TABLE ice.{schema}.t ADD COLUMN gone VARCHAR")
    assert duck.execute(f"SELECT gone FROM ice.{schema}.t").fetchall() == [(None,), (None,)]
    ids = {field.name: field.field_id for field in catalog.load_table(f"{schema}.t").schema().fields}
    assert ids == {"id": 1, "title": 2, "f": 4, "note": 5, "gone": 6}
    duck.execute(f"ALTER TABLE ice.{schema}.t SET ('owner' = 'somebody')")
    duck.execute(f"CALL set_iceberg_table_properties(ice.{schema}.t, {{'k': 'v', 'l': 'w'}})")
    duck.execute(f"CALL remove_iceberg_table_properties(ice.{schema}.t, ['l'])")
    properties = catalog.load_table(f"{schema}.t").properties
    assert properties["owner"] == "somebody" and properties["k"] == "v" and "l" not in properties
    duck.execute(f"ALTER TABLE ice.{schema}.t SET PARTITIONED BY (title)")
    duck.execute(f"INSERT INTO ice.{schema}.t VALUES (5, 'c', 2.5, 'p', 'q')")
    assert duck.execute(f"SELECT count(*) FROM ice.{schema}.t WHERE title IN ('a', 'c')").fetchall() == [(2,)]
    assert [field.name for field in catalog.load_table(f"{schema}.t").spec().fields] == ["identity_title_2"]
    journal.expect("namespace.created", "table.created", *["table.committed"] * 13)


def test_alter_nested(duck, catalog, journal, schema):
    duck.execute(f"CREATE TABLE ice.{schema}.t (id BIGINT NOT NULL, s STRUCT(a STRUCT(b INTEGER[])))")
    duck.execute(f"INSERT INTO ice.{schema}.t VALUES (1, {{'a': {{'b': [1, 2]}}}})")
    duck.execute(f"ALTER TABLE ice.{schema}.t ADD COLUMN s.c VARCHAR")
    duck.execute(f"INSERT INTO ice.{schema}.t VALUES (2, {{'a': {{'b': NULL}}, 'c': 'x'}})")
    duck.execute(f"ALTER TABLE ice.{schema}.t RENAME COLUMN s.c TO d")
    assert duck.execute(f"SELECT id, s.a.b, s.d FROM ice.{schema}.t ORDER BY id").fetchall() == [(1, [1, 2], None), (2, None, "x")]
    # Back to the schema that it began with, which DuckDB sends as a new one.
    duck.execute(f"ALTER TABLE ice.{schema}.t DROP COLUMN s.d")
    assert duck.execute(f"SELECT id, s FROM ice.{schema}.t ORDER BY id").fetchall() == [(1, {"a": {"b": [1, 2]}}), (2, {"a": {"b": None}})]
    duck.execute(f"INSERT INTO ice.{schema}.t VALUES (3, NULL)")
    metadata = catalog.load_table(f"{schema}.t").metadata
    assert (metadata.last_column_id, metadata.current_schema_id, len(metadata.schemas)) == (6, 0, 3)
    # A required column may become optional.
    duck.execute(f"CREATE TABLE ice.{schema}.u (id BIGINT NOT NULL)")
    with pytest.raises(duckdb.Error, match="NOT NULL"):
        duck.execute(f"INSERT INTO ice.{schema}.u VALUES (NULL)")
    duck.execute(f"ALTER TABLE ice.{schema}.u ALTER COLUMN id DROP NOT NULL")
    duck.execute(f"INSERT INTO ice.{schema}.u VALUES (NULL)")
    assert not catalog.load_table(f"{schema}.u").schema().find_field("id").required
    journal.expect("namespace.created", "table.created", *["table.committed"] * 6, "table.created", *["table.committed"] * 2)


def test_partitions(duck, catalog, journal, schema):
    duck.execute(f"CREATE TABLE ice.{schema}.t (id BIGINT, d DATE, s VARCHAR) PARTITIONED BY (year(d), bucket(4, id), truncate(2, s))")
    duck.execute(f"INSERT INTO ice.{schema}.t SELECT range, DATE '2024-01-01' + INTERVAL (range) MONTH, 'abc' || range FROM range(24)")
    assert duck.execute(f"SELECT count(*) FROM ice.{schema}.t WHERE d >= DATE '2025-01-01'").fetchall() == [(12,)]
    duck.execute(f"DELETE FROM ice.{schema}.t WHERE d < DATE '2025-01-01'")
    assert read(catalog, f"{schema}.t") == rows(duck, f"{schema}.t")
    assert catalog.load_table(f"{schema}.t").scan(row_filter="d < '2025-01-01'").to_arrow().num_rows == 0
    assert [str(field.transform) for field in catalog.load_table(f"{schema}.t").spec().fields] == ["year", "bucket[4]", "truncate[2]"]
    journal.expect("namespace.created", "table.created", "table.committed", "table.committed")


def test_time_travel(duck, journal, schema):
    duck.execute(f"CREATE TABLE ice.{schema}.t (id BIGINT)")
    for i in (1, 2, 3):
        duck.execute(f"INSERT INTO ice.{schema}.t VALUES ({i})")
    snapshots = [row[0] for row in duck.execute(f"SELECT snapshot_id FROM iceberg_snapshots(ice.{schema}.t) ORDER BY sequence_number").fetchall()]
    assert len(snapshots) == 3
    for n, snapshot in enumerate(snapshots, start=1):
        assert duck.execute(f"SELECT count(*) FROM ice.{schema}.t AT (VERSION => {snapshot})").fetchall() == [(n,)]
    assert duck.execute(f"SELECT count(*) FROM ice.{schema}.t AT (TIMESTAMP => now())").fetchall() == [(3,)]
    journal.expect("namespace.created", "table.created", *["table.committed"] * 3)


def test_v3(duck, catalog, journal, schema):
    """Defaults, deletion vectors, row lineage."""
    duck.execute(f"CREATE TABLE ice.{schema}.t (id BIGINT, name VARCHAR DEFAULT 'none') WITH ('format-version'='3')")
    duck.execute(f"INSERT INTO ice.{schema}.t (id) VALUES (1), (2), (3)")
    assert rows(duck, f"{schema}.t") == [(1, "none"), (2, "none"), (3, "none")]
    duck.execute(f"ALTER TABLE ice.{schema}.t ADD COLUMN n INTEGER DEFAULT 5")
    assert rows(duck, f"{schema}.t") == [(1, "none", 5), (2, "none", 5), (3, "none", 5)]
    duck.execute(f"DELETE FROM ice.{schema}.t WHERE id = 2")
    duck.execute(f"DELETE FROM ice.{schema}.t WHERE id = 3")
    duck.execute(f"INSERT INTO ice.{schema}.t VALUES (4, 'd', 6)")
    assert rows(duck, f"{schema}.t") == [(1, "none", 5), (4, "d", 6)]
    table = catalog.load_table(f"{schema}.t")
    assert table.metadata.next_row_id == 4
    assert [f.initial_default for f in table.schema().fields] == [None, "none", 5]
    journal.expect("namespace.created", "table.created", *["table.committed"] * 5)


def test_v3_types(duck, journal, schema):
    duck.execute(f"CREATE TABLE ice.{schema}.t (id BIGINT, v VARIANT, ns TIMESTAMP_NS, g GEOMETRY) WITH ('format-version'='3')")
    duck.execute(f"INSERT INTO ice.{schema}.t VALUES (1, {{'a': 1, 'b': [1, 2]}}::VARIANT, TIMESTAMP_NS '2026-01-01 00:00:00.123456789', 'POINT(1 2)'::GEOMETRY)")
    assert duck.execute(f"SELECT v, ns::VARCHAR, g::VARCHAR FROM ice.{schema}.t").fetchall() == [
        ({"a": 1, "b": [1, 2]}, "2026-01-01 00:00:00.123456789", "POINT (1 2)")]
    for kind in ("VARIANT", "TIMESTAMP_NS", "GEOMETRY"):
        with pytest.raises(duckdb.Error, match="not supported until v3"):
            duck.execute(f"CREATE TABLE ice.{schema}.v2 (c {kind})")
    journal.expect("namespace.created", "table.created", "table.committed")


def test_where_and_how_files_lie(duck, catalog, journal, schema, server):
    """A location and a metadata folder of the client's choice, compressed metadata: DuckDB also reads the pointer's file without the catalog."""
    root = f"file://{server.data}/warehouse/{schema}-chosen"
    duck.execute(f"CREATE TABLE ice.{schema}.here WITH ('location'='{root}/here') AS SELECT 1 AS i")
    duck.execute(f"CREATE TABLE ice.{schema}.apart WITH ('write.metadata.path'='{root}/meta') AS SELECT 1 AS i")
    duck.execute(f"CREATE TABLE ice.{schema}.packed WITH ('write.metadata.compression-codec'='gzip') AS SELECT 1 AS i")
    pointers = {}
    for name in ("here", "apart", "packed"):
        duck.execute(f"INSERT INTO ice.{schema}.{name} VALUES (2)")
        assert rows(duck, f"{schema}.{name}") == [(1,), (2,)]
        pointers[name] = catalog.load_table(f"{schema}.{name}").metadata_location
    assert pointers["here"].startswith(f"{root}/here/metadata/") and pointers["apart"].startswith(f"{root}/meta/00001-")
    assert pointers["packed"].endswith(".gz.metadata.json")
    for name, pointer in pointers.items():
        options = ", metadata_compression_codec='gzip'" if name == "packed" else ""
        assert duck.execute(f"SELECT count(*) FROM iceberg_scan('{pointer}'{options})").fetchall() == [(2,)]
    with pytest.raises(duckdb.Error):
        duck.execute(f"CREATE TABLE ice.{schema}.outside WITH ('location'='file:///tmp/outside-of-everything') AS SELECT 1 AS i")
    with pytest.raises(duckdb.Error):
        duck.execute(f"CREATE TABLE ice.{schema}.inside WITH ('location'='{root}/here/inside') AS SELECT 1 AS i")
    assert dict(duck.execute(f"SELECT * FROM iceberg_schema_properties(ice.{schema})").fetchall())["location"].endswith(f"/warehouse/{schema}")
    journal.expect("namespace.created", *["table.created"] * 3, *["table.committed"] * 3)


def test_rename_and_drop(ducks, duck, catalog, journal, schema):
    duck.execute(f"CREATE TABLE ice.{schema}.t AS SELECT 1 AS i")
    duck.execute(f"CREATE TABLE ice.{schema}.taken AS SELECT 2 AS i")
    with pytest.raises(duckdb.Error):
        duck.execute(f"ALTER TABLE ice.{schema}.t RENAME TO taken")
    duck.execute(f"ALTER TABLE ice.{schema}.t RENAME TO u")
    assert rows(duck, f"{schema}.u") == [(1,)]
    with pytest.raises(duckdb.Error, match="does not exist"):
        rows(duck, f"{schema}.t")
    with pytest.raises(duckdb.Error, match="is not empty"):
        duck.execute(f"DROP SCHEMA ice.{schema}")
    duck.execute(f"DROP TABLE ice.{schema}.u")
    duck.execute(f"DROP TABLE IF EXISTS ice.{schema}.u")
    with pytest.raises(duckdb.Error):
        duck.execute(f"DROP TABLE ice.{schema}.u")
    with pytest.raises(NoSuchTableError):
        catalog.load_table(f"{schema}.u")
    duck.execute(f"DROP TABLE ice.{schema}.taken")
    duck.execute(f"DROP SCHEMA ice.{schema}")
    duck.execute(f"DROP SCHEMA IF EXISTS ice.{schema}")
    assert not catalog.namespace_exists(schema)
    journal.expect("namespace.created", "table.created", "table.created", "table.renamed", "table.dropped", "table.dropped", "namespace.dropped")


def test_drop_with_purge(ducks, duck, catalog, journal, schema):
    """The server deletes the files afterwards; without the option they stay."""
    folders, uuids = {}, {}
    for name in ("kept", "purged"):
        duck.execute(f"CREATE TABLE ice.{schema}.{name} AS SELECT range AS i FROM range(10)")
        duck.execute(f"DELETE FROM ice.{schema}.{name} WHERE i = 1")
        metadata = catalog.load_table(f"{schema}.{name}").metadata
        folders[name], uuids[name] = pathlib.Path(metadata.location.removeprefix("file://")), str(metadata.table_uuid)
    purging = ducks.connect("PURGE_REQUESTED true")
    duck.execute(f"DROP TABLE ice.{schema}.kept")
    purging.execute(f"DROP TABLE ice.{schema}.purged")
    purging.close()
    journal.expect("namespace.created", *["table.created", "table.committed"] * 2, "table.dropped", "table.dropped")
    assert [event["data"].get("purge-requested") for event in journal.settle() if event["type"].endswith("table.dropped")] == [False, True]
    journal.purged(uuids["purged"])
    assert not folders["purged"].exists()
    assert list(folders["kept"].glob("data/*.parquet")) and list(folders["kept"].glob("metadata/*.metadata.json"))


@pytest.mark.parametrize("name", ["with space", "dot.in.name", "slash/inside", "plus+percent%20", "ünïcödé 日本語🧊", "Mixed Case", "semi;colon?#&="])
def test_odd_table_names(duck, catalog, journal, schema, name):
    quoted = f'ice.{schema}."{name}"'
    duck.execute(f"CREATE TABLE {quoted} (i BIGINT)")
    duck.execute(f"INSERT INTO {quoted} VALUES (7)")
    assert duck.execute(f"SELECT i FROM {quoted}").fetchall() == [(7,)]
    assert catalog.list_tables(schema) == [(schema, name)]
    assert read(catalog, (schema, name)) == [(7,)]
    duck.execute(f"DROP TABLE {quoted}")
    journal.expect("namespace.created", "table.created", "table.committed", "table.dropped")


def test_nested_schemas(ducks, journal, catalog, schema):
    duck = ducks.connect("SUPPORT_NESTED_NAMESPACES true")
    duck.execute(f'CREATE SCHEMA ice."{schema}.in"')
    duck.execute(f'CREATE TABLE ice."{schema}.in".t AS SELECT 1 AS i')
    assert duck.execute(f'SELECT * FROM ice."{schema}.in".t').fetchall() == [(1,)]
    assert catalog.list_namespaces(schema) == [(schema, "in")]
    assert read(catalog, (schema, "in", "t")) == [(1,)]
    shown = duck.execute("SELECT schema, name FROM (SHOW ALL TABLES) WHERE database = 'ice'").fetchall()
    assert (f"{schema}.in", "t") in shown
    with pytest.raises(duckdb.Error, match="is not empty"):
        duck.execute(f"DROP SCHEMA ice.{schema}")
    duck.execute(f'DROP TABLE ice."{schema}.in".t')
    duck.execute(f'DROP SCHEMA ice."{schema}.in"')
    duck.close()
    journal.expect("namespace.created", "namespace.created", "table.created", "table.dropped", "namespace.dropped")
