"""A table's whole life: create, write, evolve, branch, expire, rename, drop, register."""

import pathlib

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.expressions import EqualTo, GreaterThan
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField, SortOrder
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform
from pyiceberg.types import IntegerType, LongType, NestedField, StringType, TimestampType

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("name", pa.string()), pa.field("amount", pa.float64())])


def rows(*ids: int) -> pa.Table:
    return pa.table(
        {"id": list(ids), "name": [f"n{i}" for i in ids], "amount": [i / 2 for i in ids]},
        schema=SCHEMA,
    )


def ids(table) -> list[int]:
    return sorted(table.scan().to_arrow()["id"].to_pylist())


@pytest.mark.parametrize("version", ["1", "2"])
def test_append_overwrite_delete(catalog, journal, namespace, version):
    table = catalog.create_table(f"{namespace}.t", SCHEMA, properties={"format-version": version})
    assert table.format_version == int(version)
    assert table.metadata_location.startswith("file:///")
    table.append(rows(1, 2, 3))
    table.append(rows(4))
    assert ids(catalog.load_table(f"{namespace}.t")) == [1, 2, 3, 4]
    table.delete(EqualTo("id", 2))
    assert ids(catalog.load_table(f"{namespace}.t")) == [1, 3, 4]
    table.overwrite(rows(7, 8), overwrite_filter=GreaterThan("id", 2))
    assert ids(catalog.load_table(f"{namespace}.t")) == [1, 7, 8]
    table.overwrite(rows(9))
    loaded = catalog.load_table(f"{namespace}.t")
    assert ids(loaded) == [9]
    assert loaded.metadata_location == table.metadata_location
    assert [int(e.metadata_file.rsplit("/", 1)[1][:5]) for e in loaded.metadata.metadata_log] == [0, 1, 2, 3, 4]
    journal.expect("namespace.created", "table.created", *["table.committed"] * 5)


def test_event_tells_what_was_committed(catalog, journal, namespace):
    table = catalog.create_table(f"{namespace}.t", SCHEMA)
    before = table.metadata_location
    table.append(rows(1))
    journal.expect("namespace.created", "table.created", "table.committed")
    event = journal.settle()[2]
    assert event["specversion"] == "1.0"
    assert event["source"].startswith("urn:icecore:")
    assert len(event["sequence"]) == 20 and len(event["streamversion"]) == 20
    data = event["data"]
    assert data["metadata-location"] == table.metadata_location
    assert data["previous-metadata-location"] == before
    assert {u["action"] for u in data["updates"]} == {"add-snapshot", "set-snapshot-ref"}
    assert event["subject"].startswith("table/")


def test_upsert(catalog, journal, namespace):
    table = catalog.create_table(f"{namespace}.t", Schema(
        NestedField(1, "id", LongType(), required=True), NestedField(2, "name", StringType()), identifier_field_ids=[1]))
    arrow = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("name", pa.string())])
    table.append(pa.table({"id": [1, 2], "name": ["a", "b"]}, schema=arrow))
    result = table.upsert(pa.table({"id": [2, 3], "name": ["B", "c"]}, schema=arrow))
    assert (result.rows_updated, result.rows_inserted) == (1, 1)
    assert {r["id"]: r["name"] for r in catalog.load_table(f"{namespace}.t").scan().to_arrow().to_pylist()} == {1: "a", 2: "B", 3: "c"}
    journal.expect("namespace.created", "table.created", "table.committed", "table.committed")


def test_schema_evolution(catalog, journal, namespace):
    table = catalog.create_table(f"{namespace}.t", SCHEMA)
    table.append(rows(1))
    with table.update_schema() as update:
        update.add_column("note", StringType(), doc="free text")
        update.rename_column("name", "title")
        update.make_column_optional("id")
    with table.update_schema() as update:
        update.delete_column("amount")
        update.move_first("note")
    loaded = catalog.load_table(f"{namespace}.t")
    assert [f.name for f in loaded.schema().fields] == ["note", "id", "title"]
    assert len(loaded.metadata.schemas) == 3
    assert loaded.scan().to_arrow()["title"].to_pylist() == ["n1"]
    assert loaded.metadata.last_column_id == 4
    journal.expect("namespace.created", "table.created", *["table.committed"] * 3)


def test_partition_and_sort_evolution(catalog, journal, namespace):
    schema = Schema(NestedField(1, "id", IntegerType()), NestedField(2, "at", TimestampType()), NestedField(3, "name", StringType()))
    table = catalog.create_table(f"{namespace}.t", schema)
    with table.update_spec() as update:
        update.add_field("at", DayTransform(), "day")
        update.add_field("id", BucketTransform(16), "bucket")
    with table.update_spec() as update:
        update.remove_field("bucket")
        update.add_identity("name")
    with table.update_sort_order() as update:
        update.asc("id", IdentityTransform(), NullOrder.NULLS_LAST)
    loaded = catalog.load_table(f"{namespace}.t")
    assert [f.name for f in loaded.spec().fields] == ["day", "name"]
    assert len(loaded.metadata.partition_specs) == 3
    assert loaded.sort_order().fields[0].source_id == 1
    journal.expect("namespace.created", "table.created", *["table.committed"] * 3)


def test_created_partitioned_and_sorted(catalog, journal, namespace):
    from pyiceberg.partitioning import PartitionField, PartitionSpec

    schema = Schema(NestedField(1, "id", IntegerType()), NestedField(2, "name", StringType()))
    spec = PartitionSpec(PartitionField(source_id=2, field_id=1000, transform=IdentityTransform(), name="name"))
    order = SortOrder(SortField(source_id=1, transform=IdentityTransform(), direction=SortDirection.DESC, null_order=NullOrder.NULLS_FIRST))
    table = catalog.create_table(f"{namespace}.t", schema, partition_spec=spec, sort_order=order)
    table.append(pa.table({"id": pa.array([3, 1, 2], pa.int32()), "name": ["a", "b", "a"]}))
    assert len(table.inspect.partitions()) == 2
    assert catalog.load_table(f"{namespace}.t").scan(row_filter=EqualTo("name", "a")).to_arrow().num_rows == 2
    journal.expect("namespace.created", "table.created", "table.committed")


def test_branches_tags_and_expiry(catalog, journal, namespace):
    table = catalog.create_table(f"{namespace}.t", SCHEMA)
    for i in range(4):
        table.append(rows(i))
    first, second = (s.snapshot_id for s in table.snapshots()[:2])
    table.manage_snapshots().create_tag(first, "start").create_branch(second, "audit").commit()
    table.append(rows(100), branch="audit")
    loaded = catalog.load_table(f"{namespace}.t")
    assert ids(loaded) == [0, 1, 2, 3]
    assert sorted(loaded.scan().use_ref("audit").to_arrow()["id"].to_pylist()) == [0, 1, 100]
    assert loaded.scan(snapshot_id=first).to_arrow().num_rows == 1
    table = catalog.load_table(f"{namespace}.t")
    third = table.snapshots()[2].snapshot_id
    table.maintenance.expire_snapshots().by_id(third).commit()
    loaded = catalog.load_table(f"{namespace}.t")
    assert third not in {s.snapshot_id for s in loaded.snapshots()}
    loaded.manage_snapshots().remove_tag("start").remove_branch("audit").commit()
    assert set(catalog.load_table(f"{namespace}.t").refs()) == {"main"}
    journal.expect("namespace.created", "table.created", *["table.committed"] * 8)


def test_table_properties(catalog, journal, namespace):
    table = catalog.create_table(f"{namespace}.t", SCHEMA, properties={"owner": "me"})
    with table.transaction() as tx:
        tx.set_properties({"a": "1", "b": "2"})
    with table.transaction() as tx:
        tx.remove_properties("a")
    properties = catalog.load_table(f"{namespace}.t").properties
    assert properties["owner"] == "me" and properties["b"] == "2" and "a" not in properties
    journal.expect("namespace.created", "table.created", "table.committed", "table.committed")


def test_namespace_properties(catalog, journal, namespace):
    summary = catalog.update_namespace_properties(namespace, removals={"nothing"}, updates={"owner": "me", "x": "y"})
    assert (sorted(summary.updated), summary.removed, summary.missing) == (["owner", "x"], [], ["nothing"])
    assert catalog.load_namespace_properties(namespace)["owner"] == "me"
    summary = catalog.update_namespace_properties(namespace, removals={"x"})
    assert summary.removed == ["x"]
    journal.expect("namespace.created", "namespace.properties-updated", "namespace.properties-updated")


def test_staged_create(catalog, journal, namespace):
    with catalog.create_table_transaction(f"{namespace}.t", SCHEMA) as tx:
        assert not catalog.table_exists(f"{namespace}.t")
        with tx.update_schema() as update:
            update.add_column("note", StringType())
        tx.set_properties(made="staged")
    loaded = catalog.load_table(f"{namespace}.t")
    assert loaded.properties["made"] == "staged"
    assert [f.name for f in loaded.schema().fields][-1] == "note"
    loaded.append(rows(1).append_column("note", pa.array(["x"])))
    journal.expect("namespace.created", "table.created", "table.committed")


def test_staged_create_with_data(catalog, journal, namespace):
    """CREATE TABLE AS SELECT: data is written before the table exists."""
    with catalog.create_table_transaction(f"{namespace}.t", SCHEMA) as tx:
        tx.append(rows(1, 2))
    assert ids(catalog.load_table(f"{namespace}.t")) == [1, 2]
    journal.expect("namespace.created", "table.created")


def test_rename_drop_purge_register(catalog, journal, namespace):
    table = catalog.create_table(f"{namespace}.t", SCHEMA)
    table.append(rows(1))
    renamed = catalog.rename_table(f"{namespace}.t", f"{namespace}.u")
    assert renamed.metadata.table_uuid == table.metadata.table_uuid
    assert not catalog.table_exists(f"{namespace}.t")
    assert catalog.list_tables(namespace) == [(namespace, "u")]
    location = renamed.metadata_location
    catalog.drop_table(f"{namespace}.u")
    with pytest.raises(NoSuchTableError):
        catalog.load_table(f"{namespace}.u")
    registered = catalog.register_table(f"{namespace}.v", location)
    assert registered.metadata_location == location
    assert ids(registered) == [1]
    registered.append(rows(2))
    assert ids(catalog.load_table(f"{namespace}.v")) == [1, 2]
    catalog.purge_table(f"{namespace}.v")
    assert not catalog.table_exists(f"{namespace}.v")
    catalog.create_table(f"{namespace}.v", SCHEMA).append(rows(5))
    assert ids(catalog.load_table(f"{namespace}.v")) == [5]
    journal.expect(
        "namespace.created", "table.created", "table.committed", "table.renamed", "table.dropped", "table.registered",
        "table.committed", "table.dropped", "table.created", "table.committed")
    dropped = [e["data"] for e in journal.settle() if e["type"].endswith("table.dropped")]
    assert [d["purge-requested"] for d in dropped] == [False, True]


def test_purge_deletes_every_file(catalog, journal, namespace):
    """The files are those that PyIceberg wrote: manifests, position deletes, statistics of columns and all."""
    table = catalog.create_table(f"{namespace}.t", SCHEMA)
    with table.update_spec() as spec:
        spec.add_field("name", IdentityTransform(), "name")
    table.append(rows(1, 2, 3, 4))
    table.append(rows(5))
    table.delete(EqualTo("id", 2))
    table.overwrite(rows(7), overwrite_filter=GreaterThan("id", 4))
    folder = pathlib.Path(table.location().removeprefix("file://"))
    files = [f for f in folder.rglob("*") if f.is_file()]
    assert len(files) > 15
    catalog.purge_table(f"{namespace}.t")
    started, purged = journal.purged(str(table.metadata.table_uuid))
    assert started["everything"] and not started["outside"] and not started["outside-more"]
    assert purged["deleted"] == len(files) and not purged["unreadable"]
    assert not folder.exists()
    journal.expect("namespace.created", "table.created", *["table.committed"] * 5, "table.dropped")


def test_purge_of_a_registered_table_keeps_what_it_does_not_reach(catalog, journal, namespace):
    table = catalog.create_table(f"{namespace}.t", SCHEMA)
    table.append(rows(1, 2))
    table.append(rows(3))
    folder = pathlib.Path(table.location().removeprefix("file://"))
    reached = [f for f in folder.rglob("*") if f.is_file()]
    foreign = folder / "data" / "somebodys.parquet"
    foreign.write_bytes(b"x")
    catalog.drop_table(f"{namespace}.t")
    catalog.register_table(f"{namespace}.u", table.metadata_location)
    catalog.purge_table(f"{namespace}.u")
    started, purged = journal.purged(str(table.metadata.table_uuid))
    assert not started["everything"] and purged["deleted"] == len(reached) and not purged["unreadable"]
    assert [f for f in folder.rglob("*") if f.is_file()] == [foreign]
    journal.expect("namespace.created", "table.created", "table.committed", "table.committed", "table.dropped", "table.registered", "table.dropped")


def test_version_3_table(catalog, journal, namespace):
    """PyIceberg cannot write to a v3 table yet; making, evolving and loading one is the catalog's part."""
    table = catalog.create_table(f"{namespace}.t", SCHEMA, properties={"format-version": "3"})
    with table.update_schema() as update:
        update.add_column("note", StringType())
    loaded = catalog.load_table(f"{namespace}.t")
    assert loaded.format_version == 3 and loaded.metadata.next_row_id == 0
    journal.expect("namespace.created", "table.created", "table.committed")


def test_upgrade_1_to_2(catalog, journal, namespace):
    table = catalog.create_table(f"{namespace}.t", SCHEMA, properties={"format-version": "1"})
    table.append(rows(1))
    with table.transaction() as tx:
        tx.upgrade_table_version(2)
    table.append(rows(2))
    loaded = catalog.load_table(f"{namespace}.t")
    assert loaded.format_version == 2 and ids(loaded) == [1, 2]
    assert pc.sum(loaded.scan().to_arrow()["id"]).as_py() == 3
    journal.expect("namespace.created", "table.created", *["table.committed"] * 3)
