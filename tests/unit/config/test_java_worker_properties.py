# SPDX-License-Identifier: Apache-2.0
"""The guide's table of Java's worker properties: all of Java's, with what headrace has in fact."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from headrace.cli.worker_properties import UNUSED
from headrace.config.distributed_config import DistributedConfig
from headrace.config.standalone_config import StandaloneConfig
from headrace.kafka.clients.client_definitions import NAMES
from headrace.kafka.clients.client_properties import WITHOUT_EFFECT

ROOT = Path(__file__).parents[3]
VECTORS = ROOT / "tests" / "vectors" / "worker_properties.jsonl"
JAVA = {line["name"]: line.get("default") for line in map(json.loads, VECTORS.read_text().splitlines())}
"""Java's properties with their defaults as text; None if there is none, or null."""
PAGE = (ROOT / "docs" / "guide" / "coming-from-java.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("<!-- properties -->")[2].partition("<!-- end of properties -->")[0]
ROWS = [(re.findall(r"`([\w.]+)`", names), text) for names, text in re.findall(r"(?m)^\| (`.+?) \| (.+) \|$", TABLE)]
OURS = DistributedConfig.DEFINITION.config_keys | StandaloneConfig.DEFINITION.config_keys
PER_CONNECTOR = {f"{kind}.converter.plugin.version" for kind in ("key", "value", "header")}


def shown(value: object) -> str | None:
    """A default as Java prints it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ",".join(value)
    return None if value is None else str(value)


def test_all_of_javas_properties_are_in_the_table_or_are_those_of_clients() -> None:
    listed = {name for names, _ in ROWS for name in names}
    assert JAVA.keys() - listed <= NAMES
    assert listed - JAVA.keys() == {"offset.storage.file.filename", "producer.", "consumer.", "admin."}


@pytest.mark.parametrize(("names", "text"), ROWS, ids=[names[0] for names, _ in ROWS])
def test_the_table_says_what_headrace_has(names: list[str], text: str) -> None:
    for name in (name for name in names if not name.endswith(".")):
        if text.startswith("no effect"):
            assert name in UNUSED.keys() | WITHOUT_EFFECT | PER_CONNECTOR, name
        elif name in (NAMES | {"ssl.client.auth"}) - OURS.keys():
            assert name not in WITHOUT_EFFECT, name
        else:
            other = re.match("default `(.+?)` instead of `(.+?)`", text)
            defaults = (shown(OURS[name].default) if OURS[name].has_default else None, JAVA.get(name))
            if other:
                assert defaults == other.groups()
            elif name not in ("bootstrap.servers", "offset.storage.file.filename"):
                assert defaults[0] == defaults[1], name
