# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

from headrace.cli.ctl.statuses import DELETED, Seen, changed_parts, seen_parts
from tests.unit.cli.ctl.conftest import TRACE


def answer(state: str, verdict: str | None = None, why: str | None = None, trace: str | None = None) -> dict[str, Any]:
    own = {"state": "RUNNING"}
    known = {"status": {"connector": own, "tasks": [{"id": 0, "state": state, "trace": trace}]}}
    if verdict is not None:
        tasks = [{"id": 0, "state": state, "verdict": verdict, "why": why}]
        known |= {"health": {"connector": {**own, "verdict": "healthy", "why": "It runs."}, "tasks": tasks}}
    return {"c": known}


def test_states_and_verdicts() -> None:
    assert dict(seen_parts(answer("RUNNING", "stalled", "It hangs."))) == {
        ("c", "connector"): Seen("RUNNING", "healthy"),
        ("c", "task 0"): Seen("RUNNING", "stalled", "It hangs."),
    }
    assert dict(seen_parts(answer("FAILED", trace=TRACE)))["c", "task 0"].text == (
        "FAILED  ConnectError: the disk is gone"
    )
    assert dict(seen_parts({"new": {"info": {}}})) == {("new", "connector"): Seen("-")}


def test_changes() -> None:
    before = dict(seen_parts(answer("RUNNING", "degraded", "Retried for 3 s.")))
    assert [key for key, _ in changed_parts({}, before)] == [("c", "connector"), ("c", "task 0")]
    later = dict(seen_parts(answer("RUNNING", "degraded", "Retried for 5 s.")))
    assert list(changed_parts(before, later)) == [], "only the time in the reason is another one"
    healthy = dict(seen_parts(answer("RUNNING", "healthy", "Nothing is wrong.")))
    assert list(changed_parts(before, healthy)) == [(("c", "task 0"), Seen("RUNNING", "healthy"))]
    assert list(changed_parts(before, {})) == [(key, DELETED) for key in before]
