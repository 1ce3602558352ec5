"""Transactions over several tables are one unit in the log, or nothing."""

import threading

import duckdb
import pytest


def tables(con, schema: str, *names: str):
    for name in names:
        con.execute(f"CREATE TABLE ice.{schema}.{name} (id BIGINT)")


def ids(con, table: str) -> list[int]:
    return [row[0] for row in con.execute(f"SELECT id FROM ice.{table} ORDER BY id").fetchall()]


def test_two_tables_are_one_commit(duck, journal, schema):
    tables(duck, schema, "a", "b")
    duck.execute("BEGIN")
    duck.execute(f"INSERT INTO ice.{schema}.a VALUES (1), (2)")
    duck.execute(f"INSERT INTO ice.{schema}.b SELECT id + 10 FROM ice.{schema}.a")
    duck.execute(f"DELETE FROM ice.{schema}.a WHERE id = 1")
    duck.execute("COMMIT")
    assert ids(duck, f"{schema}.a") == [2] and ids(duck, f"{schema}.b") == [11, 12]
    journal.expect("namespace.created", *["table.created"] * 2, *["table.committed"] * 2)
    one, two = journal.settle()[-2:]
    assert one["commitid"] == two["commitid"] and one["commitsize"] == two["commitsize"] == 2
    assert int(two["sequence"]) == int(one["sequence"]) + 1
    assert one["subject"] != two["subject"]


def test_rollback_leaves_nothing(duck, journal, schema):
    tables(duck, schema, "a", "b")
    duck.execute("BEGIN")
    duck.execute(f"INSERT INTO ice.{schema}.a VALUES (1)")
    duck.execute(f"INSERT INTO ice.{schema}.b VALUES (2)")
    duck.execute("ROLLBACK")
    assert ids(duck, f"{schema}.a") == ids(duck, f"{schema}.b") == []
    journal.expect("namespace.created", *["table.created"] * 2)


def test_a_conflict_on_one_table_refuses_both(ducks, duck, journal, schema):
    tables(duck, schema, "a", "b")
    duck.execute(f"INSERT INTO ice.{schema}.b VALUES (1), (2)")
    other = ducks.connect()
    duck.execute("BEGIN")
    duck.execute(f"INSERT INTO ice.{schema}.a VALUES (1)")
    duck.execute(f"DELETE FROM ice.{schema}.b WHERE id = 1")
    other.execute(f"DELETE FROM ice.{schema}.b WHERE id = 2")
    with pytest.raises(duckdb.Error, match="(?i)conflict|Requirement failed"):
        duck.execute("COMMIT")
    assert ids(other, f"{schema}.a") == [] and ids(other, f"{schema}.b") == [1]
    other.close()
    journal.expect("namespace.created", *["table.created"] * 2, *["table.committed"] * 2)


def test_a_table_made_and_filled_in_a_transaction(duck, journal, schema):
    """DuckDB sends what it did to the tables that were there and each new table, with its rows, by requests of their own."""
    tables(duck, schema, "a")
    duck.execute("BEGIN")
    duck.execute(f"INSERT INTO ice.{schema}.a VALUES (1)")
    duck.execute(f"CREATE TABLE ice.{schema}.made (id BIGINT)")
    duck.execute(f"INSERT INTO ice.{schema}.made VALUES (2), (3)")
    duck.execute("COMMIT")
    assert ids(duck, f"{schema}.a") == [1] and ids(duck, f"{schema}.made") == [2, 3]
    journal.expect("namespace.created", "table.created", "table.committed", "table.created")
    committed, created = journal.settle()[-2:]
    assert committed["commitid"] != created["commitid"]
    assert len(created["data"]["snapshots"]) == 1


def test_writers_on_one_table(ducks, duck, journal, schema):
    """Eight writers, each retrying its own losses: rows equal acknowledgements."""
    duck.execute(f"CREATE TABLE ice.{schema}.t (writer BIGINT, i BIGINT)")
    acknowledged, failures = [], []
    barrier = threading.Barrier(8)

    def write(writer: int):
        con = ducks.connect()
        barrier.wait()
        try:
            for i in range(3):
                while True:
                    try:
                        con.execute(f"INSERT INTO ice.{schema}.t VALUES ({writer}, {i})")
                    except duckdb.Error as refused:
                        if "Conflict" not in str(refused):
                            raise
                        continue
                    acknowledged.append((writer, i))
                    break
        except BaseException as failure:  # noqa: BLE001 - reported by the main thread
            failures.append(failure)
        finally:
            con.close()

    threads = [threading.Thread(target=write, args=(w,)) for w in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[:3]
    rows = duck.execute(f"SELECT writer, i FROM ice.{schema}.t ORDER BY ALL").fetchall()
    assert rows == sorted(acknowledged) == [(w, i) for w in range(8) for i in range(3)]
    journal.expect("namespace.created", "table.created", *["table.committed"] * len(acknowledged))
