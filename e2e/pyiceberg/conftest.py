"""Starts one `icecore dev` for the session and checks the log after each test."""

import pathlib
import sys

import pytest
from pyiceberg.catalog.rest import RestCatalog

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "pykit"))
pytest.register_assert_rewrite("icecore_server")
from icecore_server import journal, server  # noqa: E402, F401 - fixtures


@pytest.fixture
def catalog(server) -> RestCatalog:  # noqa: F811
    return server.catalog()


@pytest.fixture
def namespace(catalog, request) -> str:
    """A namespace of its own for the test. It is the first event of the test."""
    name = "ns_" + "".join(c if c.isalnum() else "_" for c in request.node.name)[:80]
    catalog.create_namespace(name)
    return name
