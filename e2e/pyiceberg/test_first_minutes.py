"""The README's first five minutes, as written there."""

import json
import re
import shlex

from icecore_server import TOP


def test_readme_first_five_minutes(server, journal):
    readme = (TOP / "README.md").read_text()
    section = readme.split("<!-- first five minutes: begin -->")[1].split("<!-- first five minutes: end -->")[0]
    blocks = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert blocks, "the README has no Python in its first five minutes"
    code = "\n".join(blocks)
    assert "http://127.0.0.1:8181/" in code, "the README should use the default address"
    scope = {"__name__": "readme"}
    exec(compile(code.replace("http://127.0.0.1:8181/", server.url + "/"), "README.md", "exec"), scope)
    kinds = [event["type"].removeprefix("dev.icecore.") for event in journal.events()]
    assert "namespace.created" in kinds and "table.created" in kinds and "table.committed" in kinds
    journal.expect(*kinds)

    # "Then look at what happened": the lines of the next block, on this server's folder.
    block = re.search(r"Then look at what happened.*?```sh\n(.*?)```", readme, re.DOTALL)
    assert block, "the README does not show what happened"
    said = {}
    for line in block.group(1).splitlines():
        program, *arguments = shlex.split(line, comments=True)
        assert program == "bin/icecore", line
        said[" ".join(arguments)] = server.run(*arguments)
    assert {words.split(" --")[0].rstrip("0123456789 ") for words in said} == {"log list", "log diff", "verify", "rebuild"}
    table = said["log list"].splitlines()
    assert "sales.orders" in said["log list"] and len(table) > 5
    events = [json.loads(line) for line in said["log list --json"].splitlines()]
    assert {"id", "source", "type", "subject", "sequence", "data"} <= events[-1].keys()
    (diff,) = [text for words, text in said.items() if words.startswith("log diff")]
    assert diff.strip(), "the README compares positions between which nothing changed"


def test_readme_installs_what_is_tested():
    line = re.search(r'^pip install "([^"]+)"$', (TOP / "README.md").read_text(), re.MULTILINE)
    assert line, "the README does not say what to install"
    assert line.group(1) in (TOP / "e2e" / "pyiceberg" / "requirements.txt").read_text().splitlines()
