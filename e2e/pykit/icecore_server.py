"""A running Icecore for suites in Python, and what its log gained during each test."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import time
import urllib.request

import pytest
from pyiceberg.catalog.rest import RestCatalog

TOP = pathlib.Path(__file__).resolve().parents[2]
ICECORE = os.environ.get("ICECORE_BIN", str(TOP / "bin" / "icecore"))
PREFIX = "dev.icecore."


class Server:
    """A running `icecore dev` on a folder of its own."""

    def __init__(self, data: pathlib.Path):
        self.data = data
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.listen = f"127.0.0.1:{s.getsockname()[1]}"
        self.url = f"http://{self.listen}"
        self.output = data.parent / "icecore.log"
        self.process = None

    def start(self):
        with open(self.output, "ab") as out:
            self.process = subprocess.Popen(
                [ICECORE, "dev", "--data", str(self.data), "--listen", self.listen], stdout=out, stderr=out
            )
        deadline = time.monotonic() + 120
        while True:
            if self.process.poll() is not None:
                raise AssertionError(f"icecore dev ended:\n{self.output.read_text()[-4000:]}")
            try:
                with urllib.request.urlopen(self.url + "/ready", timeout=2) as answer:
                    if answer.status == 200:
                        return
            except OSError:
                pass
            if time.monotonic() > deadline:
                raise AssertionError(f"icecore dev is not ready:\n{self.output.read_text()[-4000:]}")
            time.sleep(0.05)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(timeout=60) == 0, self.output.read_text()[-4000:]

    def run(self, *args: str) -> str:
        """Runs an operating command on the server's folder and returns its output."""
        done = subprocess.run([ICECORE, *args, "--data", str(self.data)], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"icecore {' '.join(args)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def events(self, after: int = 0) -> list[dict]:
        """The log after a position, as CloudEvents."""
        lines = self.run("log", "list", "--json", "--limit", "1000000", "--after", str(after)).splitlines()
        return [json.loads(line) for line in lines if line]

    def catalog(self, **properties) -> RestCatalog:
        return RestCatalog("icecore", uri=self.url + "/catalog", warehouse="demo", **properties)


class Journal:
    """What the log gained during one test."""

    def __init__(self, server: Server):
        self.server = server
        self.expected = None
        self.start = self.head()

    def head(self) -> int:
        events = self.server.events()
        return int(events[-1]["sequence"]) if events else 0

    def events(self) -> list[dict]:
        """What requests did. Jobs report in their own time, perhaps during the next test: see purged."""
        return [e for e in self.server.events(self.start) if not e["type"].endswith((".purge-started", ".purged"))]

    def purged(self, table_uuid: str) -> tuple[dict, dict]:
        """Waits for the purge of a table and returns the data of its two events."""
        deadline = time.monotonic() + 30
        while True:
            found = [
                e["data"] for e in self.server.events(self.start)
                if e["type"].endswith((".purge-started", ".purged")) and e["data"]["table-uuid"] == table_uuid
            ]
            if len(found) == 2:
                return found[0], found[1]
            assert time.monotonic() < deadline, f"the purge of {table_uuid} stands at {found}"
            time.sleep(0.05)

    def expect(self, *kinds: str):
        """Declares the kinds of events, in order, that the test should have caused, e.g. "table.created"."""
        self.expected = [PREFIX + kind for kind in kinds]

    def settle(self) -> list[dict]:
        """Waits until the sequencer has numbered as many events as are expected (at least)."""
        deadline = time.monotonic() + 10
        while True:
            events = self.events()
            if len(events) >= len(self.expected) or time.monotonic() > deadline:
                return events
            time.sleep(0.02)

    def check(self):
        assert self.expected is not None, "the test did not say which events it expects"
        assert [event["type"] for event in self.settle()] == self.expected
        self.server.run("verify")


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("icecore")
    # The database of `icecore dev` runs as an unprivileged user when we are root: it must reach its folder.
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == os.geteuid() and parent != pathlib.Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    running = Server(folder / "data")
    running.start()
    yield running
    running.stop()


@pytest.fixture
def journal(server):
    kept = Journal(server)
    yield kept
    kept.check()
