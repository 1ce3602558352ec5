"""The README's first five minutes, as written there."""

import re

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
