"""Conflicts are 409 and reach the caller as the right exception; refused requests leave no event."""

import threading

import pyarrow as pa
import pytest
from pyiceberg.exceptions import (
    BadRequestError, CommitFailedException, NamespaceAlreadyExistsError, NamespaceNotEmptyError, NoSuchNamespaceError, NoSuchTableError,
    RESTError, TableAlreadyExistsError)
from pyiceberg.types import StringType

SCHEMA = pa.schema([pa.field("writer", pa.int64()), pa.field("i", pa.int64())])
WRITERS, APPENDS = 16, 4


def test_clashes(catalog, journal, namespace):
    catalog.create_table(f"{namespace}.t", SCHEMA)
    with pytest.raises(TableAlreadyExistsError):
        catalog.create_table(f"{namespace}.T", SCHEMA)  # names compare without case
    with pytest.raises(NamespaceAlreadyExistsError):
        catalog.create_namespace(namespace.upper())
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace(namespace)
    with pytest.raises(NoSuchNamespaceError):
        catalog.create_table("nowhere.t", SCHEMA)
    with pytest.raises(RESTError, match="NoSuchNamespaceException"):  # PyIceberg has no class for it here
        catalog.create_namespace(("nowhere", "below"))
    with pytest.raises(NoSuchNamespaceError):
        catalog.list_tables("nowhere")
    with pytest.raises(NoSuchNamespaceError):
        catalog.drop_namespace("nowhere")
    with pytest.raises(NoSuchTableError):
        catalog.drop_table(f"{namespace}.missing")
    with pytest.raises(NoSuchTableError):
        catalog.load_table(f"{namespace}.missing")
    catalog.create_table(f"{namespace}.u", SCHEMA)
    with pytest.raises(TableAlreadyExistsError):
        catalog.rename_table(f"{namespace}.t", f"{namespace}.u")
    with pytest.raises((BadRequestError, NoSuchTableError)):
        catalog.register_table(f"{namespace}.v", "file:///etc/passwd")
    assert sorted(catalog.list_tables(namespace)) == [(namespace, "t"), (namespace, "u")]
    journal.expect("namespace.created", "table.created", "table.created")


def test_stale_schema_change_is_a_commit_failure(catalog, journal, namespace):
    catalog.create_table(f"{namespace}.t", SCHEMA)
    one, two = catalog.load_table(f"{namespace}.t"), catalog.load_table(f"{namespace}.t")
    late = two.update_schema().add_column("b", StringType())
    one.update_schema().add_column("a", StringType()).commit()
    with pytest.raises(CommitFailedException, match="Requirement failed: current schema changed: expected id 0 != 1"):
        late.commit()
    assert [f.name for f in catalog.load_table(f"{namespace}.t").schema().fields] == ["writer", "i", "a"]
    journal.expect("namespace.created", "table.created", "table.committed")


def test_lost_create_race(catalog, journal, namespace):
    tx = catalog.create_table_transaction(f"{namespace}.t", SCHEMA)
    catalog.create_table(f"{namespace}.t", SCHEMA)
    with pytest.raises((CommitFailedException, TableAlreadyExistsError)):
        tx.commit_transaction()
    journal.expect("namespace.created", "table.created")


def test_sixteen_writers_on_one_table(server, catalog, journal, namespace):
    """Each writer retries until acknowledged: rows and snapshots equal the acknowledgements."""
    # The client's own retries are switched off: the test counts every answer.
    catalog.create_table(f"{namespace}.t", SCHEMA, properties={"commit.retry.num-retries": "0"})
    acknowledged, conflicts, failures = [], [], []
    barrier = threading.Barrier(WRITERS)

    def write(writer: int):
        mine = server.catalog()
        barrier.wait()
        try:
            for i in range(APPENDS):
                while True:
                    table = mine.load_table(f"{namespace}.t")
                    try:
                        table.append(pa.table({"writer": [writer], "i": [i]}, schema=SCHEMA))
                    except CommitFailedException:
                        conflicts.append(writer)
                        continue
                    acknowledged.append((writer, i))
                    break
        except BaseException as failure:  # noqa: BLE001 - reported by the main thread
            failures.append(failure)

    threads = [threading.Thread(target=write, args=(w,)) for w in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[:3]
    loaded = catalog.load_table(f"{namespace}.t")
    rows = sorted((r["writer"], r["i"]) for r in loaded.scan().to_arrow().to_pylist())
    assert rows == sorted(acknowledged) == [(w, i) for w in range(WRITERS) for i in range(APPENDS)]
    assert len(loaded.snapshots()) == len(acknowledged)
    chain, at = 0, loaded.current_snapshot()
    while at is not None:
        chain += 1
        at = loaded.snapshot_by_id(at.parent_snapshot_id) if at.parent_snapshot_id else None
    assert chain == len(acknowledged)
    print(f"{len(acknowledged)} acknowledged, {len(conflicts)} conflicts")
    journal.expect("namespace.created", "table.created", *["table.committed"] * len(acknowledged))
