# SPDX-License-Identifier: Apache-2.0
"""The screens of `headrace top` and `headrace connectors describe`, of recorded answers of real workers.

``GOLDEN=write`` writes the snapshots instead of comparing them; then read what changed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.cli.ctl.description import Described, masked
from headrace.cli.ctl.description import render as describe
from headrace.cli.ctl.top_rows import Sort, arranged, rows, totals
from headrace.cli.ctl.top_screen import Screen
from headrace.cli.ctl.top_screen import render as top

HERE = Path(__file__).parent
KINDS, WIDTHS = ("headrace", "java"), (80, 120)
BROKEN = "shipments-of-all-warehouses-in-europe"

Golden = Callable[[Any, int], None]


def recorded(kind: str) -> dict[str, Any]:
    answers: dict[str, Any] = json.loads((HERE / "answers" / f"{kind}.json").read_text())
    return answers


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compares a screen with the snapshot of the test's name."""
    name = request.node.name.removeprefix("test_").replace("[", "-").rstrip("]")
    path = HERE / "golden" / f"{name}.txt"

    def compare(screen: Any, width: int) -> None:
        text = shown(screen, width)
        assert max(map(len, text.splitlines())) <= width
        if os.environ.get("GOLDEN") == "write":
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        assert text == path.read_text()

    return compare


def shown(screen: Any, width: int) -> str:
    from rich.console import Console

    out = Console(width=width, color_system=None)
    with out.capture() as captured:
        out.print(screen)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def top_of(answer: Any, *, sort: Sort = Sort.NAME, with_tasks: bool = False, **more: Any) -> Screen:
    found = rows(answer)
    return Screen("4kcSN2TkSQ", "09:15:02", totals(found), arranged(found, sort, with_tasks=with_tasks), **more)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_top(golden: Golden, kind: str, width: int) -> None:
    golden(top(top_of(recorded(kind)["connectors"]), width), width)


@pytest.mark.parametrize("width", [*WIDTHS, 40])
def test_top_with_tasks(golden: Golden, width: int) -> None:
    golden(top(top_of(recorded("headrace")["connectors"], sort=Sort.HEALTH, with_tasks=True), width), width)


def test_top_in_a_low_terminal(golden: Golden) -> None:
    golden(top(top_of(recorded("headrace")["connectors"], trouble="No answer from http://h:1"), 80, height=8), 80)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["orders", "payments", "audit", BROKEN])
@pytest.mark.parametrize("kind", KINDS)
def test_describe(golden: Golden, kind: str, name: str, width: int) -> None:
    answers = recorded(kind)
    known, config = answers["connectors"][name], answers["info"][name]["config"]
    with_config = masked(config, frozenset()) if name == "orders" else None
    topics = answers["topics"][name]
    described = Described(name, config["connector.class"], known["status"], 0, known.get("health"), topics, with_config)
    golden(describe(described, width), width)


def test_one_line_is_cut_by_no_escape_sequence() -> None:
    answer = {"a\x1b[2J": {"status": {"connector": {"state": "RUNNING"}, "tasks": []}}}
    assert "\x1b" not in shown(top(top_of(answer), 80), 80)
