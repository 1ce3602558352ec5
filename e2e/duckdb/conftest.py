"""DuckDB connections to one `icecore dev`, and its log after each test."""

import pathlib
import sys

import duckdb
import pytest
from duckdb_extensions import import_extension
from pyiceberg.catalog.rest import RestCatalog

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "pykit"))
pytest.register_assert_rewrite("icecore_server")
from icecore_server import journal, server  # noqa: E402, F401 - fixtures


class Duck:
    """Makes connections that have the warehouse `demo` attached as `ice`."""

    def __init__(self, url: str, extensions: pathlib.Path):
        self.url = url
        self.extensions = extensions

    def connect(self, *options: str, warehouse: str = "demo", base: str = "/catalog") -> duckdb.DuckDBPyConnection:
        # The extensions come from the wheels, into a folder of their own: nothing is fetched, nothing is left in the home folder.
        con = duckdb.connect(config={
            "extension_directory": str(self.extensions), "autoinstall_known_extensions": "false", "autoload_known_extensions": "false", "threads": "2",
        })
        for extension in ("avro", "httpfs", "iceberg"):
            import_extension(extension, con=con)
            con.execute(f"LOAD {extension}")
        attach = ", ".join(["TYPE iceberg", f"ENDPOINT '{self.url}{base}'", "AUTHORIZATION_TYPE 'none'", *options])
        con.execute(f"ATTACH '{warehouse}' AS ice ({attach})")
        return con


@pytest.fixture(scope="session")
def ducks(server, tmp_path_factory) -> Duck:  # noqa: F811
    return Duck(server.url, tmp_path_factory.mktemp("extensions"))


@pytest.fixture
def duck(ducks) -> duckdb.DuckDBPyConnection:
    con = ducks.connect()
    yield con
    con.close()


@pytest.fixture
def catalog(server) -> RestCatalog:  # noqa: F811
    """PyIceberg on the same warehouse."""
    return server.catalog()


@pytest.fixture
def schema(duck, request) -> str:
    """A schema of its own for the test. It is the first event of the test."""
    name = "s_" + "".join(c if c.isalnum() else "_" for c in request.node.name)[:80]
    duck.execute(f"CREATE SCHEMA ice.{name}")
    return name
