# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from headrace.cli.ctl.statuses import age_text, bytes_text, lag_text, rate_text
from headrace.cli.ctl.top_rows import Sort, arranged, rows, totals
from headrace.cli.ctl.top_screen import Screen, render
from headrace.model.state import TargetState
from tests.support.polling import wait_for
from tests.unit.cli.ctl.conftest import TRACE, Cluster, Commands


def task(id: int, state: str = "RUNNING", **health: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"id": id, "state": state, "worker_id": f"w{id}"}, {"id": id, "verdict": "healthy", **health}


def connector(*tasks: tuple[dict[str, Any], dict[str, Any]], verdict: str = "healthy") -> dict[str, Any]:
    own = {"state": "RUNNING", "worker_id": "w0"}
    health = {"verdict": verdict, "connector": {**own, "verdict": "healthy"}, "tasks": [each[1] for each in tasks]}
    return {"status": {"connector": own, "tasks": [each[0] for each in tasks]}, "health": health}


def lag(amount: int, unit: str = "records") -> dict[str, Any]:
    return {"unit": unit, unit: amount, "partitions": {}}


ANSWER = {
    "b": connector(
        task(0, records_per_second=1.5, lag=lag(3), stage="polling", last_commit=5, restarts={"count": 1}),
        task(1, "FAILED", records_per_second=2.0, lag=lag(40), stage="polling", last_commit=900),
        verdict="failed",
    ),
    "a": connector(task(0, lag=lag(7, "bytes"), stage="putting"), task(1, lag=lag(7)), verdict="stalled"),
    "c": connector(
        task(0, records_per_second=9.0, errors={"errors": 2, "retries": 4}, stage="reading"), task(1, stage="putting")
    ),
    "java": {
        "status": {"connector": {"state": "RUNNING", "worker_id": "w9"}, "tasks": [{"id": 0, "state": "RUNNING"}]}
    },
    "new": {"info": {}},
}


def test_rows_have_the_sums_of_tasks() -> None:
    found = {row.name: row for row in rows(ANSWER)}
    assert list(found) == ["b", "a", "c", "java"]
    b = found["b"]
    assert (b.records, b.lag, b.lag_unit, b.commit, b.restarts, b.running, b.failed) == (
        *(3.5, 43, "records", 900, 1),
        (1, 2),
        1,
    )
    assert (b.stage, found["c"].stage, found["java"].stage) == ("polling", "reading 1, putting 1", None)
    assert (found["a"].lag, found["a"].lag_unit) == (None, None), "bytes and records have no sum"
    assert (found["c"].errors, found["c"].retries, found["java"].errors) == (2, 4, None)


def test_totals() -> None:
    sums = totals(rows(ANSWER))
    assert (sums.workers, sums.connectors, sums.tasks, sums.running, sums.failed) == (3, 4, 7, 6, 1)
    assert (sums.records, sums.bytes) == (12.5, None)


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        (Sort.NAME, ["a", "b", "c", "java"]),
        (Sort.LAG, ["b", "a", "c", "java"]),
        (Sort.RECORDS, ["c", "b", "a", "java"]),
        (Sort.HEALTH, ["b", "a", "c", "java"]),
        (Sort.ERRORS, ["c", "a", "b", "java"]),
        (Sort.STAGE, ["b", "a", "c", "java"]),
    ],
)
def test_order(sort: Sort, order: list[str]) -> None:
    assert [row.name for row in arranged(rows(ANSWER), sort, with_tasks=False)] == order


def test_tasks_are_below_their_connector() -> None:
    names = [row.name.strip() for row in arranged(rows(ANSWER, ["b", "j*"]), Sort.LAG, with_tasks=True)]
    assert names == ["b", "task 1", "task 0", "java", "task 0"]


def test_patterns() -> None:
    assert [row.name for row in rows(ANSWER, ["[ab]", "ja*"])] == ["b", "a", "java"]
    assert rows(ANSWER, ["A"]) == []


def test_numbers() -> None:
    assert [age_text(ms) for ms in (None, 0, 999, 1000, 59_999, 60_000, 7_200_000, 200_000_000)] == [
        *("-", "0 ms", "999 ms", "1 s", "59 s", "1 min"),
        *("2 h", "2 d"),
    ]
    assert [rate_text(rate) for rate in (None, 0, 0.04, 99.94, 1234.5)] == ["-", "0", "0.0", "99.9", "1,234"]
    assert [bytes_text(n) for n in (None, 0, 1023, 1024, 5 * 1024**2)] == ["-", "0 B", "1,023 B", "1.0 KiB", "5.0 MiB"]
    assert [lag_text(2048, unit) for unit in ("records", "bytes", "files")] == ["2,048", "2.0 KiB", "2,048 files"]


def test_once(commands: Commands, cluster: Cluster) -> None:
    cluster.configs["other"] = {}
    cluster.states["other"] = TargetState.STOPPED
    cluster.trace = TRACE
    code, out, err = commands.run("top", "o*", "--sort", "state")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].endswith("  cluster cluster  workers 1  connectors 2  tasks 0/1 running, 1 failed")
    assert lines[2:] == [
        "NAME    STATE    HEALTH  TASKS          WORKER",
        "orders  RUNNING  failed  0/1, 1 failed  h:8083",
        "other   STOPPED  failed  0/0            h:8083",
    ]
    assert commands.run("top", "none*")[1].splitlines()[2:] == ["NAME"]
    assert commands.run("top", "none", "x") == (3, "", "Error: No connector is named none or x\n")


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("trouble", [None, "No answer: " + 10 * "a reason, "])
def test_the_screen_fits_the_terminal(width: int, trouble: str | None) -> None:
    many = rows({f"connector-{number}": ANSWER["a"] for number in range(50)})
    screen = Screen("MkU3OEVBNTcwNTJENDM2Qk", "12:00:00", totals(many), many, trouble)
    console = Console(width=width, height=20, file=StringIO())
    lines = console.render_lines(render(screen, width, 20), pad=False)
    text = ["".join(segment.text for segment in line) for line in lines]
    assert len(text) == 19
    assert text[-1].startswith("… and ") and text[-1].endswith(" more lines")


class Terminal:
    """`headrace` on a terminal of 100 columns."""

    def __init__(self, commands: Commands, *args: str, **more: str) -> None:
        self._terminal, theirs = pty.openpty()
        environment = {**os.environ, **commands.environment, "TERM": "xterm", "COLUMNS": "100", "LINES": "20", **more}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "headrace", *args], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
        )
        os.close(theirs)
        self.text = ""

    def read(self) -> str:
        while select.select([self._terminal], [], [], 0)[0]:
            try:
                self.text += os.read(self._terminal, 65536).decode(errors="replace")
            except OSError:  # it has ended
                break
        return self.text

    def type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._terminal)


@pytest.mark.parametrize("end", ["q", "Ctrl-C"])
def test_live(commands: Commands, cluster: Cluster, end: str) -> None:
    with Terminal(commands, "top", "--interval", "0.5") as terminal:
        wait_for(lambda: "orders" in terminal.read(), 30, lambda: terminal.text)
        cluster.configs["new-one"] = {}
        wait_for(lambda: "new-one" in terminal.read(), 30, lambda: terminal.text)
        if end == "q":
            terminal.type("q")
        else:
            terminal.process.send_signal(signal.SIGINT)
        wait_for(lambda: bool(terminal.read()) and terminal.process.poll() is not None, 30, "the end")
        assert (terminal.process.returncode, "Traceback" in terminal.text) == (0, False)


@pytest.mark.parametrize(("more", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours(commands: Commands, more: dict[str, str], coloured: bool) -> None:
    with Terminal(commands, "top", "--once", **more) as terminal:
        wait_for(lambda: bool(terminal.read()) and terminal.process.poll() is not None, 30, "the end")
        assert ("RUNNING" in terminal.read(), "\x1b[32m" in terminal.text) == (True, coloured)
