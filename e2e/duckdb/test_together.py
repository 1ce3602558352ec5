"""DuckDB and PyIceberg on the same tables: each reads what the other wrote."""

import datetime

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.expressions import EqualTo
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, StringType

SCHEMA = pa.schema([pa.field("id", pa.int64()), pa.field("name", pa.string()), pa.field("at", pa.timestamp("us"))])


def batch(*ids: int) -> pa.Table:
    return pa.table({"id": list(ids), "name": [f"n{i}" for i in ids], "at": [datetime.datetime(2026, 1, 1 + i % 20) for i in ids]}, schema=SCHEMA)


def seen(con, table: str) -> list[tuple]:
    return con.execute(f"SELECT id, name FROM ice.{table} ORDER BY id").fetchall()


@pytest.mark.parametrize("version", ["1", "2"])
def test_duckdb_reads_what_pyiceberg_wrote(duck, catalog, journal, schema, version):
    table = catalog.create_table(f"{schema}.t", SCHEMA, properties={"format-version": version})
    table.append(batch(1, 2, 3))
    assert seen(duck, f"{schema}.t") == [(1, "n1"), (2, "n2"), (3, "n3")]
    with table.update_spec() as update:
        update.add_field("name", IdentityTransform())
    table.append(batch(4, 5))
    table.delete(EqualTo("id", 2))
    with table.update_schema() as update:
        update.add_column("extra", StringType())
        update.rename_column("name", "title")
    assert duck.execute(f"SELECT id, title, extra FROM ice.{schema}.t ORDER BY id").fetchall() == [
        (1, "n1", None), (3, "n3", None), (4, "n4", None), (5, "n5", None)]
    assert duck.execute(f"SELECT id FROM ice.{schema}.t WHERE \"at\" = TIMESTAMP '2026-01-05'").fetchall() == [(4,)]
    first = table.metadata.snapshots[0].snapshot_id
    assert duck.execute(f"SELECT count(*) FROM ice.{schema}.t AT (VERSION => {first})").fetchall() == [(3,)]
    journal.expect("namespace.created", "table.created", *["table.committed"] * 5)


def test_pyiceberg_reads_what_duckdb_wrote(duck, catalog, journal, schema):
    duck.execute(f"CREATE TABLE ice.{schema}.t (id BIGINT, name VARCHAR) PARTITIONED BY (bucket(2, id))")
    duck.execute(f"INSERT INTO ice.{schema}.t SELECT range, 'n' || range FROM range(10)")
    duck.execute(f"DELETE FROM ice.{schema}.t WHERE id % 2 = 1")
    duck.execute(f"UPDATE ice.{schema}.t SET name = 'new' WHERE id = 4")
    table = catalog.load_table(f"{schema}.t")
    got = sorted((row["id"], row["name"]) for row in table.scan().to_arrow().to_pylist())
    assert got == [(0, "n0"), (2, "n2"), (4, "new"), (6, "n6"), (8, "n8")] == seen(duck, f"{schema}.t")
    assert table.scan(row_filter=EqualTo("id", 4)).to_arrow()["name"].to_pylist() == ["new"]
    assert sum(len(snapshot.summary.additional_properties) > 0 for snapshot in table.snapshots()) == len(table.snapshots())
    journal.expect("namespace.created", "table.created", *["table.committed"] * 3)


def test_turn_by_turn(duck, catalog, journal, schema):
    """Writes and schema changes of both on one table; the history is one line."""
    table = catalog.create_table(f"{schema}.t", SCHEMA)
    table.append(batch(1))
    duck.execute(f"INSERT INTO ice.{schema}.t VALUES (2, 'duck', TIMESTAMP '2026-05-05')")
    table.refresh()
    table.append(batch(3))
    duck.execute(f"DELETE FROM ice.{schema}.t WHERE id = 1")
    duck.execute(f"ALTER TABLE ice.{schema}.t ADD COLUMN n INTEGER")
    table.refresh()
    with table.update_schema() as update:
        update.update_column("n", LongType())
    table.append(pa.table({"id": [4], "name": ["py"], "at": [datetime.datetime(2026, 6, 6)], "n": [1 << 40]}))
    want = [(2, "duck", None), (3, "n3", None), (4, "py", 1 << 40)]
    assert duck.execute(f"SELECT id, name, n FROM ice.{schema}.t ORDER BY id").fetchall() == want
    assert sorted((r["id"], r["name"], r["n"]) for r in catalog.load_table(f"{schema}.t").scan().to_arrow().to_pylist()) == want
    at, chain = catalog.load_table(f"{schema}.t").current_snapshot(), 0
    snapshots = {s.snapshot_id: s for s in catalog.load_table(f"{schema}.t").snapshots()}
    while at is not None:
        at, chain = snapshots.get(at.parent_snapshot_id), chain + 1
    assert chain == len(snapshots) == 5
    journal.expect("namespace.created", "table.created", *["table.committed"] * 7)


def test_the_later_writer_is_refused_not_lost(duck, catalog, journal, schema):
    """A DuckDB transaction that began before PyIceberg's overwrite of the same table conflicts with it."""
    table = catalog.create_table(f"{schema}.t", SCHEMA)
    table.append(batch(1, 2))
    duck.execute("BEGIN")
    duck.execute(f"DELETE FROM ice.{schema}.t WHERE id = 1")
    table.overwrite(batch(7))
    with pytest.raises(duckdb.Error, match="(?i)conflict|Requirement failed"):
        duck.execute("COMMIT")
    assert seen(duck, f"{schema}.t") == [(7, "n7")]
    journal.expect("namespace.created", "table.created", *["table.committed"] * 2)


def test_branches_and_tags_of_pyiceberg(duck, catalog, journal, schema):
    table = catalog.create_table(f"{schema}.t", SCHEMA)
    table.append(batch(1))
    table.manage_snapshots().create_tag(table.current_snapshot().snapshot_id, "one").create_branch(table.current_snapshot().snapshot_id, "side").commit()
    table.append(batch(2), branch="side")
    table.append(batch(3))
    assert seen(duck, f"{schema}.t") == [(1, "n1"), (3, "n3")]
    duck.execute(f"INSERT INTO ice.{schema}.t VALUES (4, 'n4', NULL)")
    refs = catalog.load_table(f"{schema}.t").refs()
    assert set(refs) == {"main", "one", "side"}
    assert sorted(catalog.load_table(f"{schema}.t").scan(snapshot_id=refs["side"].snapshot_id).to_arrow()["id"].to_pylist()) == [1, 2]
    journal.expect("namespace.created", "table.created", *["table.committed"] * 5)


def test_registered_table(duck, catalog, journal, schema):
    duck.execute(f"CREATE TABLE ice.{schema}.t AS SELECT 1 AS id")
    pointer = catalog.load_table(f"{schema}.t").metadata_location
    duck.execute(f"DROP TABLE ice.{schema}.t")
    catalog.register_table(f"{schema}.again", pointer)
    duck.execute(f"INSERT INTO ice.{schema}.again VALUES (2)")
    assert duck.execute(f"SELECT id FROM ice.{schema}.again ORDER BY id").fetchall() == [(1,), (2,)]
    journal.expect("namespace.created", "table.created", "table.dropped", "table.registered", "table.committed")


def test_a_warehouse_of_its_own_base(ducks, duck, journal, schema):
    """The same warehouse by its own base URI, which has no prefix; its name need not be given."""
    own = ducks.connect(warehouse="", base="/catalog/w/demo")
    own.execute(f"CREATE TABLE ice.{schema}.t AS SELECT 1 AS id")
    duck.execute(f"INSERT INTO ice.{schema}.t VALUES (2)")
    assert own.execute(f"SELECT id FROM ice.{schema}.t ORDER BY id").fetchall() == [(1,), (2,)]
    own.close()
    journal.expect("namespace.created", "table.created", "table.committed")


def test_unknown_warehouse(ducks, journal):
    with pytest.raises(duckdb.Error, match="NoSuchWarehouseException|nowhere"):
        ducks.connect(warehouse="nowhere")
    journal.expect()
