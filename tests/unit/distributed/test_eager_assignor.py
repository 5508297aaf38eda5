# SPDX-License-Identifier: Apache-2.0
"""The eager protocol deals everything out anew, in turn."""

from __future__ import annotations

from headrace.distributed.group.assignors import NOTHING, Change, Member, Share, assign_eagerly, share_of
from headrace.model.ids import ConnectorTaskId


def test_connectors_are_dealt_first_and_tasks_go_on_from_there() -> None:
    work = share_of("abc", [ConnectorTaskId("a", 0), ConnectorTaskId("b", 0), ConnectorTaskId("b", 1)])
    outcome = assign_eagerly({"n": Member("u2"), "m": Member("u1")}, work)
    assert outcome.changes == {
        "m": Change(share_of("ac", [ConnectorTaskId("b", 0)])),
        "n": Change(share_of("b", [ConnectorTaskId("a", 0), ConnectorTaskId("b", 1)])),
    }
    assert outcome.delay == 0
    assert {id: member.url for id, member in outcome.memory.members.items()} == {"m": "u1", "n": "u2"}


def test_eager_assignment_ignores_what_members_owned_before() -> None:
    work = share_of("ab", [])
    outcome = assign_eagerly({"m": Member("u1", owned=work), "n": Member("u2")}, work)
    assert [change.given for change in outcome.changes.values()] == [share_of("a", []), share_of("b", [])]


def test_without_work_everybody_gets_nothing() -> None:
    assert assign_eagerly({"m": Member("u1")}, Share()).changes == {"m": Change(NOTHING)}
