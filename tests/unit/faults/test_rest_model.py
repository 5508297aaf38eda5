# SPDX-License-Identifier: Apache-2.0
"""The model of the state machine over the REST API: what it expects, and bad records, each of which it has to find."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.faults.rest_model import PAUSED, RUNNING, STOPPED, Cut, Model, Written

A, B = "first", "second"


def written(start: str, label: int, seqnos: Iterable[int]) -> list[Written]:
    return [Written(seqno, label, start) for seqno in seqnos]


def test_tasks_follow_the_configuration_only_while_it_runs() -> None:
    model = Model().created(RUNNING, 4)
    assert (model.running, model.task_label) == (3, 1)
    paused = model.paused().configured(1)
    assert (paused.running, paused.task_label) == (3, 1)
    assert (paused.resumed().running, paused.resumed().task_label) == (1, 2)
    stopped = model.stopped().configured(2)
    assert (stopped.running, stopped.paused().running, stopped.paused().resumed().running) == (0, 0, 2)
    for state in (PAUSED, STOPPED):
        assert Model().created(state, 2).running == 0


def test_what_the_status_topic_holds() -> None:
    model = Model().created(RUNNING, 1).paused()
    assert model.statuses("c") == {"status-connector-c": PAUSED, "status-task-c-0": PAUSED}
    assert model.stopped().statuses("c") == {"status-connector-c": STOPPED}
    assert model.deleted(False).statuses("c") == {}


def test_offsets_are_the_last_records_or_what_they_were_changed_to() -> None:
    model = Model().created(RUNNING, 1).stopped()
    records = {0: written(A, 1, range(3)), 1: written(A, 1, range(2))}
    assert model.offsets(records) == {0: 2, 1: 1}
    changed = model.cut({0: Cut(8, index=3), 1: Cut(0, index=2), 2: Cut(5, index=0)})
    assert changed.offsets(records) == {0: 7, 2: 4}
    assert changed.offsets({**records, 0: [*records[0], *written(B, 2, [8, 9])]}) == {0: 9, 2: 4}
    assert model.deleted(True).offsets(records) == {}
    assert model.deleted(False).created(RUNNING, 2).offsets(records) == {0: 2, 1: 1}


def test_records_in_order_are_right() -> None:
    model = Model().created(RUNNING, 1).configured(2)
    assert model.disorder({0: written(A, 1, range(3)) + written(B, 2, range(3, 5))}) == []
    altered = model.cut({0: Cut(0, index=3), 1: Cut(7, index=0)})
    assert altered.disorder({0: written(A, 1, range(3)) + written(B, 2, range(2)), 1: written(B, 2, [7, 8])}) == []
    anew = model.deleted(True).created(RUNNING, 1)
    assert anew.disorder({0: written(A, 2, range(3)) + written(B, 3, range(2))}) == []


@pytest.mark.parametrize(
    ("records", "problem"),
    [
        (written(A, 1, [0, 2]), "where 1 is due"),
        (written(A, 1, [0, 1, 1]), "where 2 is due"),
        (written(A, 1, [1]), "where 0 is due"),
        (written(A, 1, [0]) + written(B, 1, [1]) + written(A, 1, [2]), "after its task's successor has begun"),
        (written(A, 2, [0]) + written(B, 1, [1]), "of a configuration that has no tasks now"),
        (written(A, 3, [0]), "of a configuration that has no tasks now"),
    ],
    ids=["lost", "doubled", "not from the start", "zombie", "former configuration", "unapplied configuration"],
)
def test_what_is_wrong_with_records_is_found(records: list[Written], problem: str) -> None:
    (found,) = Model().created(RUNNING, 1).configured(2).disorder({2: records})
    assert problem in found


def test_a_sequence_begins_again_exactly_where_its_offset_was_changed() -> None:
    model = Model().created(RUNNING, 1).cut({0: Cut(0, index=2)})
    for records in ([0, 1, 2], [0, 0, 1], [0, 1, 1]):
        assert model.disorder({0: written(A, 1, records)})
    anew = Model().created(RUNNING, 1).deleted(True).created(RUNNING, 1)
    assert anew.disorder({0: written(A, 1, [0]) + written(B, 2, [1])})
