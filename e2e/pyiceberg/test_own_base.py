"""A warehouse that is known by its URI alone, and a credential that nobody can redeem."""

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog


def test_a_uri_is_enough(server, catalog, journal, namespace):
    own = RestCatalog("own", uri=server.url + "/catalog/w/demo")
    assert (namespace,) in own.list_namespaces()
    rows = pa.table({"id": [1, 2, 3]})
    table = own.create_table((namespace, "a b/c"), schema=rows.schema)
    table.append(rows)
    with table.transaction() as change:
        change.set_properties(owner="x")
    assert own.list_tables(namespace) == [(namespace, "a b/c")]
    # By the prefix it is the same table.
    seen = catalog.load_table((namespace, "a b/c"))
    assert seen.metadata == own.load_table((namespace, "a b/c")).metadata and seen.scan().to_arrow() == rows
    own.rename_table((namespace, "a b/c"), (namespace, "d"))
    own.drop_table((namespace, "d"))
    own.drop_namespace(namespace)
    journal.expect(
        "namespace.created",
        "table.created",
        "table.committed",
        "table.committed",
        "table.renamed",
        "table.dropped",
        "namespace.dropped",
    )


@pytest.mark.parametrize("base", ["/catalog", "/catalog/w/demo"])
def test_a_credential_is_refused_in_words(server, journal, base):
    with pytest.raises(Exception, match="authentication is turned off"):
        RestCatalog("locked", uri=server.url + base, warehouse="demo", credential="client:hunter2")
    journal.expect()
