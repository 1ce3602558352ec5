"""Views: create, load, list, exist, drop, register; and one name space with tables."""

import json
import urllib.request

import pyarrow as pa
import pytest
from pyiceberg.exceptions import (
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NoSuchViewError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType
from pyiceberg.view.metadata import SQLViewRepresentation, ViewRepresentation, ViewVersion

SCHEMA = Schema(NestedField(7, "id", LongType(), required=True, doc="unique"), NestedField(9, "name", StringType(), required=False))
TABLE = pa.schema([pa.field("id", pa.int64(), nullable=False)])


def version(namespace: str, **queries: str) -> ViewVersion:
    return ViewVersion(
        schema_id=3,
        summary={"engine-name": "pyiceberg"},
        representations=[ViewRepresentation(SQLViewRepresentation(type="sql", sql=sql, dialect=d)) for d, sql in queries.items()],
        default_namespace=(namespace,),
    )


def test_life_of_a_view(server, catalog, journal, namespace):
    name = f"{namespace}.Report"
    assert not catalog.view_exists(name)
    made = catalog.create_view(name, SCHEMA, version(namespace, spark="select 1", trino="select 2"), properties={"comment": "ü", "n": 5})
    assert made.current_version().version_id == 1 and made.current_version().schema_id == 0
    assert made.current_version().default_namespace == (namespace,)
    assert [f.name for f in made.schema().fields] == ["id", "name"]
    assert made.properties == {"comment": "ü", "n": "5"}
    assert made.location().startswith("file:///")
    assert [h.version_id for h in made.history()] == [1]
    assert catalog.view_exists(name) and catalog.view_exists(f"{namespace}.report")
    loaded = catalog.load_view(name)
    assert loaded.metadata == made.metadata
    assert loaded.sql_for("TRINO").sql == "select 2"
    assert catalog.list_views(namespace) == [(namespace, "Report")]
    assert catalog.list_tables(namespace) == []
    with pytest.raises(ViewAlreadyExistsError):
        catalog.create_view(name, SCHEMA, version(namespace, spark="select 1"))

    # PyIceberg replaces no views: another client does.
    replace = {
        "requirements": [{"type": "assert-view-uuid", "uuid": str(made.uuid())}],
        "updates": [
            {"action": "add-view-version", "view-version": {
                "version-id": 2, "timestamp-ms": 1700000000000, "schema-id": 0, "summary": {"engine-name": "x"}, "default-namespace": [namespace],
                "representations": [{"type": "sql", "sql": "select 3", "dialect": d} for d in ("spark", "trino")],
            }},
            {"action": "set-current-view-version", "view-version-id": -1},
        ],
    }  # fmt: skip
    request = urllib.request.Request(
        f"{server.url}/catalog/v1/{catalog.properties['prefix']}/namespaces/{namespace}/views/Report",
        data=json.dumps(replace).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        location = json.load(answer)["metadata-location"]
    replaced = catalog.load_view(name)
    assert replaced.sql_for("spark").sql == "select 3"
    assert [h.version_id for h in replaced.history()] == [1, 2]
    assert replaced.version(1).representations == made.current_version().representations

    catalog.drop_view(name)
    assert not catalog.view_exists(name)
    with pytest.raises(NoSuchViewError, match="View does not exist"):
        catalog.load_view(name)
    with pytest.raises(NoSuchViewError):
        catalog.drop_view(name)
    back = catalog.register_view(f"{namespace}.back", location)
    assert back.metadata == replaced.metadata
    assert catalog.list_views(namespace) == [(namespace, "back")]
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace(namespace)
    journal.expect("namespace.created", "view.created", "view.committed", "view.dropped", "view.registered")
    assert journal.settle()[2]["data"]["current-version-id"] == 2


def test_tables_and_views_share_their_names(catalog, journal, namespace):
    catalog.create_table(f"{namespace}.t", TABLE)
    catalog.create_view(f"{namespace}.v", SCHEMA, version(namespace, spark="select 1"))
    with pytest.raises(ViewAlreadyExistsError, match=f"Table with same name already exists: {namespace}.T"):
        catalog.create_view(f"{namespace}.T", SCHEMA, version(namespace, spark="select 1"))
    with pytest.raises(TableAlreadyExistsError, match=f"View with same name already exists: {namespace}.V"):
        catalog.create_table(f"{namespace}.V", TABLE)
    with pytest.raises(NoSuchTableError):
        catalog.load_table(f"{namespace}.v")
    with pytest.raises(NoSuchViewError):
        catalog.load_view(f"{namespace}.t")
    assert not catalog.table_exists(f"{namespace}.v") and not catalog.view_exists(f"{namespace}.t")
    assert catalog.list_tables(namespace) == [(namespace, "t")] and catalog.list_views(namespace) == [(namespace, "v")]
    with pytest.raises(NoSuchNamespaceError):
        catalog.list_views("no_such_namespace")
    journal.expect("namespace.created", "table.created", "view.created")
