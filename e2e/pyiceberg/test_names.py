"""Nested and odd names: what goes in comes out, decoded exactly once."""

import pyarrow as pa
import pytest
from pyiceberg.exceptions import BadRequestError, NamespaceNotEmptyError, NoSuchNamespaceError, RESTError

SCHEMA = pa.schema([pa.field("id", pa.int64())])
LONG = "x" * 255
ODD = [
    "with space", "dot.in.name", "slash/inside", "back\\slash", "percent%", "percent%2Fencoded", "plus+sign", "quote'single", 'quote"double',
    "ünïcödé", "日本語", "emoji🧊", "semi;colon", "question?mark", "hash#tag", "amp&ersand", "equals=sign", "comma,", "star*", "Mixed Case", LONG,
    "é" * 127, "trailing ", " leading", "new\nline", "tab\t", "...", ".hidden", "~tilde", "(paren)", "[bracket]", "{brace}", "at@sign", "colon:", "pipe|", "a%20b",
]


def test_nested_namespaces(catalog, journal):
    catalog.create_namespace("deep")
    catalog.create_namespace(("deep", "er"))
    catalog.create_namespace(("deep", "er", "est"), {"k": "v"})
    assert catalog.list_namespaces("deep") == [("deep", "er")]
    assert catalog.list_namespaces(("deep", "er")) == [("deep", "er", "est")]
    assert ("deep",) in catalog.list_namespaces() and ("deep", "er") not in catalog.list_namespaces()
    assert catalog.load_namespace_properties(("deep", "er", "est")) == {"k": "v"} or \
        catalog.load_namespace_properties(("deep", "er", "est"))["k"] == "v"
    catalog.create_table(("deep", "er", "t"), SCHEMA).append(pa.table({"id": [1]}))
    assert catalog.list_tables(("deep", "er")) == [("deep", "er", "t")]
    assert catalog.list_tables("deep") == []
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace("deep")
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace(("deep", "er"))
    catalog.drop_namespace(("deep", "er", "est"))
    catalog.drop_table(("deep", "er", "t"))
    catalog.drop_namespace(("deep", "er"))
    catalog.drop_namespace("deep")
    journal.expect(
        *["namespace.created"] * 3, "table.created", "table.committed", "namespace.dropped", "table.dropped", "namespace.dropped", "namespace.dropped")


@pytest.mark.parametrize("name", ODD, ids=range(len(ODD)))
def test_odd_names(catalog, journal, name):
    catalog.create_namespace((name,))
    assert (name,) in catalog.list_namespaces()
    assert catalog.namespace_exists((name,))
    catalog.create_namespace((name, name))
    assert (name, name) in catalog.list_namespaces((name,))
    catalog.create_table((name, name, name), SCHEMA)
    assert catalog.list_tables((name, name)) == [(name, name, name)]
    table = catalog.load_table((name, name, name))
    table.append(pa.table({"id": [7]}))
    assert catalog.load_table((name, name, name)).scan().to_arrow()["id"].to_pylist() == [7]
    assert catalog.table_exists((name, name, name))
    catalog.rename_table((name, name, name), (name, name, name[:100] + "2"))
    catalog.drop_table((name, name, name[:100] + "2"))
    catalog.drop_namespace((name, name))
    catalog.drop_namespace((name,))
    journal.expect(
        "namespace.created", "namespace.created", "table.created", "table.committed", "table.renamed", "table.dropped", "namespace.dropped",
        "namespace.dropped")


@pytest.mark.parametrize("name", [".", "..", "", "nul\0", "unit\x1fseparator", "x" * 256], ids=range(6))
def test_names_that_cannot_be(catalog, journal, namespace, name):
    """Refused by one rule when made; clients would cut or could not send them."""
    with pytest.raises((BadRequestError, NoSuchNamespaceError, RESTError)):
        catalog.create_namespace((namespace, name) if name != "unit\x1fseparator" else (name,))
    with pytest.raises((BadRequestError, RESTError)):
        catalog.create_table((namespace, name), SCHEMA)
    assert catalog.list_namespaces((namespace,)) == [] and catalog.list_tables((namespace,)) == []
    journal.expect("namespace.created")


def test_names_that_look_alike_when_encoded(catalog, journal, namespace):
    names = ["foo/bar", "foo%2Fbar", "foo%252Fbar", "foo bar", "foo+bar", "foo%20bar"]
    uuids = {name: catalog.create_table((namespace, name), SCHEMA).metadata.table_uuid for name in names}
    assert len(set(uuids.values())) == len(names)
    for name in names:
        assert catalog.load_table((namespace, name)).metadata.table_uuid == uuids[name]
    for name in names:
        catalog.drop_table((namespace, name))
        assert not catalog.table_exists((namespace, name))
    journal.expect("namespace.created", *["table.created"] * len(names), *["table.dropped"] * len(names))
