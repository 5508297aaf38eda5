# SPDX-License-Identifier: Apache-2.0
"""Commits beside the next poll, with a writer in memory: what runs when, and what is notified of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.java.source_task import source_task_class
from headrace.kafka.errors import UncertainCommitError
from headrace.model.health import Stage as HealthStage
from headrace.task.source.transaction_boundary import PollBoundary
from tests.unit.task.source_stage import Memory, NotifiedTask, Stage, WantsRecords


class Held(Memory):
    """Each commit waits until ``released``, and fails if it is not, or with ``error``."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()
        self.released = threading.Event()
        self.error: Exception | None = None

    def commit(self) -> Any:
        self.begun.set()
        assert self.released.wait(10), "nothing else is done while the commit runs"
        if self.error is not None:
            raise self.error
        return super().commit()


@pytest.fixture
def held(stage: Stage) -> Iterator[Held]:
    stage.memory = held = Held()
    yield held
    held.released.set()


def run(stage: Stage, *script: Any, kind: type[NotifiedTask] = NotifiedTask) -> list[Any]:
    return stage.run(PollBoundary(), *script, kind=kind, beside_polls=True)


def test_the_task_is_polled_while_its_last_batch_is_committed(stage: Stage, held: Held, record: Any) -> None:
    def second() -> Any:
        assert held.begun.wait(10)
        assert (held.visible, stage.link.heard) == ([], [])
        held.released.set()
        return [record("b", 2)]

    assert run(stage, [record("a", 1)], second) == [([b"a"], [1]), ([b"b"], [2])]
    assert [heard[1] for heard in stage.link.heard if heard[0] == "offsets"] == [
        [({"p": "p"}, {"n": 1})],
        [({"p": "p"}, {"n": 2})],
    ]


def test_nothing_is_written_while_a_commit_runs(stage: Stage, held: Held, record: Any) -> None:
    write, seen = held.write, list[int]()

    def look(*arguments: Any) -> None:
        seen.append(len(held.visible))
        write(*arguments)

    held.write = look  # type: ignore[method-assign]

    def second() -> Any:
        threading.Timer(0.2, held.released.set).start()
        return [record("b", 2)]

    run(stage, [record("a", 1)], second)
    assert seen == [0, 1]


def test_a_commit_after_a_long_poll_is_waited_for(stage: Stage, record: Any) -> None:
    seen: list[Any] = []
    look = lambda: seen.append((len(stage.memory.visible), stage.link.heard[-1][0]))  # noqa: E731
    run(stage, stage.after(0.2, [record("a", 1)]), look)
    assert seen == [(1, "offsets")]


def test_an_empty_poll_is_followed_by_the_notification(stage: Stage, record: Any) -> None:
    seen: list[str] = []
    run(stage, [record("a", 1)], [], lambda: seen.append(stage.link.heard[-1][0]))
    assert seen == ["offsets"]


def test_records_are_notified_in_order_and_before_their_commit(stage: Stage, record: Any) -> None:
    run(stage, [record("a", 1), record("b", 2)], [record("c", 3)], kind=WantsRecords)
    calls = [heard for heard in stage.link.heard if heard == "commit" or heard[0] in ("record", "offsets")]
    assert calls == [
        ("record", "a", 0),
        ("record", "b", 1),
        "commit",
        ("offsets", [({"p": "p"}, {"n": 2})]),
        ("record", "c", 0),
        "commit",
        ("offsets", [({"p": "p"}, {"n": 3})]),
    ]


def test_topics_are_notified_with_the_commit_of_their_records(stage: Stage, record: Any) -> None:
    run(stage, [record("a", 1)], [record("b", 2, topic="u")])
    assert [heard[1] for heard in stage.link.heard if heard[0] == "topics"] == [["t"], ["u"]]


def test_an_error_of_the_next_poll_comes_after_the_commit(stage: Stage, held: Held, record: Any) -> None:
    def fail() -> Any:
        threading.Timer(0.2, held.released.set).start()
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        run(stage, [record("a", 1)], fail)
    assert held.visible == [([b"a"], [1])]
    assert stage.link.heard[-1] == ("offsets", [({"p": "p"}, {"n": 1})])
    assert stage.control.progress.stage is HealthStage.POLLING


def test_a_commit_that_fails_ends_the_attempt_before_anything_else_is_written(
    stage: Stage, held: Held, record: Any
) -> None:
    held.error = UncertainCommitError("who knows")

    def second() -> Any:
        held.released.set()
        return [record("b", 2)]

    with pytest.raises(UncertainCommitError):
        run(stage, [record("a", 1)], second)
    assert held.size == 1  # of the transaction that failed
    assert stage.link.heard == []
    assert stage.control.progress.stage is HealthStage.COMMITTING
    stage.report()
    figures = stage.link.heard[-1][1]
    assert (figures["offset-commit-failure-total"], figures["offset-commit-failure-percentage"]) == (1, 1)


def test_a_stop_waits_for_the_commit(stage: Stage, held: Held, record: Any) -> None:
    stop = lambda: threading.Timer(0.2, held.released.set).start()  # noqa: E731
    assert run(stage, [record("a", 1)], stop) == [([b"a"], [1])]
    assert stage.link.heard[-1] == ("offsets", [({"p": "p"}, {"n": 1})])


def test_a_pause_waits_for_the_commit_and_its_notification(stage: Stage, held: Held, record: Any) -> None:
    def first() -> Any:
        stage.control.set_paused(True)
        threading.Timer(0.2, held.released.set).start()
        return [record("a", 1)]

    def wait_while_paused(seconds: float | None = None) -> bool:
        stage.control.set_paused(False)
        return True

    stage.control.wait_while_paused = wait_while_paused  # type: ignore[method-assign]
    run(stage, first)
    assert stage.link.heard[-3:] == [("offsets", [({"p": "p"}, {"n": 1})]), "paused", "running"]


def test_java_tasks_that_poll_ahead() -> None:
    names = ("org.apache.kafka.connect.mirror.MirrorSourceTask", "org.apache.kafka.connect.file.FileStreamSourceTask")
    assert [source_task_class((), name).polls_ahead for name in names] == [True, False]
