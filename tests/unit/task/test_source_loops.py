# SPDX-License-Identifier: Apache-2.0
"""Both loops with a writer in memory: what becomes visible, with which offsets, and what is notified of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from headrace.api.source import WrittenRecords
from headrace.kafka.errors import RetriableKafkaError, UncertainCommitError
from headrace.model.health import Progress
from headrace.model.health import Stage as HealthStage
from headrace.model.ids import ConnectorTaskId
from headrace.task.errors.reporters import DeadLetterQueueReporter
from headrace.task.errors.retry_with_tolerance import ToleranceExceededError
from headrace.task.source.source_batch import SourceBatch, SourceDeadLetters, SourceOffset
from headrace.task.source.transaction_boundary import (
    ConnectorBoundary,
    IntervalBoundary,
    PollBoundary,
    WorkerTransactionContext,
)
from headrace.task.source.worker_source_task import WorkerSourceTask
from headrace.task.task_spec import TaskKind, TaskSpec
from headrace.task.worker_link import TaskControl
from headrace.task.worker_task import run_task
from tests.unit.task import support_plugins
from tests.unit.task.source_stage import Memory, Stage, WantsRecords


class Loop:
    """A RunnableTask of a loop alone."""

    def __init__(self, execute: Callable[[], object]) -> None:
        self._execute = execute

    def init(self) -> None: ...

    def start(self) -> None: ...

    def execute(self) -> None:
        self._execute()

    def close(self) -> None: ...


SUFFIX = {"transforms": "s", "transforms.s.type": f"{support_plugins.__name__}.Suffix"}


def test_a_poll_is_a_transaction(stage: Stage, record: Any) -> None:
    visible = stage.run(PollBoundary(), [record("a", 1), record("b", 2)], None, [], [record("c", 3)])
    assert visible == [([b"a", b"b"], [2]), ([b"c"], [3])]
    assert stage.link.heard == [
        "commit",
        ("topics", ["t"]),
        ("offsets", [({"p": "p"}, {"n": 2})]),
        "commit",
        ("topics", ["t"]),
        ("offsets", [({"p": "p"}, {"n": 3})]),
    ]


def test_a_tasks_progress_is_noted_per_batch(stage: Stage, record: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    progress, stages = stage.control.progress, list[str]()
    enter = progress.enter
    monkeypatch.setattr(progress, "enter", lambda entered: (stages.append(entered.value), enter(entered)))
    measured: list[Progress] = []

    def blocked() -> None:
        measured.append(progress.measure())

    assert progress.measure().stage.value == "starting"
    stage.run(
        IntervalBoundary(100.0, stage.clock.now), blocked, [record("a", 1)], blocked, stage.after(200, None), blocked
    )
    batch = ["polling", "converting", "producing"]
    assert stages == ["polling", *batch, "polling", "polling", "committing", "polling", "polling"]
    before, open_, after = measured
    assert before == replace(before, stage=HealthStage.POLLING, last_poll=None, last_record=None, last_commit=None)
    assert (open_.last_record, open_.transaction_open) != (None, None) and open_.last_commit is None
    assert after.last_commit is not None and after.transaction_open is None
    assert open_.transaction_interval == 100_000


def test_an_interval_gathers_polls_and_the_end_commits_the_rest(stage: Stage, record: Any) -> None:
    after, clock = stage.after, stage.clock
    boundary = IntervalBoundary(1.0, clock.now)
    script = [after(0.4, [record("a", 1)]), after(0.7, [record("b", 2)]), after(0.1, [record("c", 3)])]
    assert stage.run(boundary, *script) == [([b"a", b"b"], [2]), ([b"c"], [3])]


def test_a_failed_attempt_is_in_its_stage(stage: Stage, record: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def end_of(failing: str, *script: Any) -> HealthStage | None:
        def fail(*_: Any) -> None:
            raise UncertainCommitError("who knows")

        stage.control, stage.memory = TaskControl(), Memory()
        monkeypatch.setattr(stage.memory, failing, fail)
        spec = TaskSpec(ConnectorTaskId("c", 0), TaskKind.SOURCE, "m:C", {}, {}, {}, {}, {}, "offsets", True)
        loop = Loop(lambda: stage.run(PollBoundary(), *script))
        error = run_task(spec, stage.link, stage.control, {TaskKind.SOURCE: lambda *_: loop}).error
        return None if error is None else error.stage

    assert end_of("commit", [record("a", 1)]) is HealthStage.COMMITTING
    assert end_of("write", [record("a", 1)]) is HealthStage.PRODUCING


def test_a_quiet_source_does_not_hold_a_transaction_open(stage: Stage, record: Any) -> None:
    boundary = IntervalBoundary(1.0, stage.clock.now)
    seen_before_the_end: list[int] = []
    stage.run(
        boundary,
        [record("a", 1)],
        stage.after(1.0, None),
        lambda: seen_before_the_end.append(len(stage.memory.visible)),
    )
    assert seen_before_the_end == [1]


def test_the_connectors_boundaries(stage: Stage, record: Any) -> None:
    context = WorkerTransactionContext()

    def poll() -> Any:
        records = [record(v, n) for n, v in enumerate("abcde")]
        context.commit_transaction(records[1])
        context.abort_transaction(records[3])
        return records

    # What is aborted is not read again: its offset is committed alone. What is left open is neither.
    assert stage.run(ConnectorBoundary(context), poll) == [([b"a", b"b"], [1]), ([], [3])]
    assert stage.memory.pending
    assert stage.memory.aborts == 1


def test_a_transaction_that_a_pause_would_leave_open_ends_the_attempt(stage: Stage, record: Any) -> None:
    context = WorkerTransactionContext()

    def poll() -> Any:
        stage.control.set_paused(True)
        return [record("a", 1)]

    with pytest.raises(RetriableKafkaError, match="paused within a transaction"):
        stage.run(ConnectorBoundary(context), poll)
    assert stage.memory.visible == []
    assert "paused" not in stage.link.heard


def test_a_pause_commits_what_the_boundary_lets_it(stage: Stage, record: Any) -> None:
    class Control(TaskControl):
        def wait_while_paused(self, seconds: float | None = None) -> bool:
            stage.link.heard.append(len(stage.memory.visible))
            self.set_paused(False)
            return True

    stage.control = Control()

    def poll() -> Any:
        stage.control.set_paused(True)
        return [record("a", 1)]

    stage.run(IntervalBoundary(10.0, stage.clock.now), poll, [record("b", 2)])
    assert stage.memory.visible == [([b"a"], [1]), ([b"b"], [2])]
    assert stage.link.heard[3:6] == ["paused", 1, "running"]


def test_the_task_is_notified_of_dropped_records_without_offsets_too(stage: Stage, record: Any) -> None:
    """There is nothing to commit, and yet the task may let go of them (KIP-618, KAFKA-14799)."""
    nowhere = {"position": None, "partition": None}
    script = [[record("drop", **nowhere)], [], [record("drop", **nowhere)]]
    assert stage.run(PollBoundary(), *script, kind=WantsRecords, transforms=SUFFIX) == []
    calls = [heard for heard in stage.link.heard if heard == "commit" or heard[0] == "record"]
    assert calls == [("record", "drop", None), "commit"] * 2


def test_dropped_records_offsets_count(stage: Stage, record: Any) -> None:
    visible = stage.run(PollBoundary(), [record("drop", 1)], [record("a", 2), record("drop", 3)], transforms=SUFFIX)
    assert visible == [([], [1]), ([b"a!"], [3])]


def test_commit_record_comes_before_commit_with_the_polled_record(stage: Stage, record: Any) -> None:
    script = [[record("a", 1), record("drop", 2), record("b", 3)]]
    stage.run(PollBoundary(), *script, kind=WantsRecords, transforms=SUFFIX)
    assert stage.link.heard[:4] == [("record", "a", 0), ("record", "b", 1), ("record", "drop", None), "commit"]


@pytest.mark.parametrize("transforms", [{}, SUFFIX])
def test_a_table_beside_commit_record(stage: Stage, transforms: dict[str, str]) -> None:
    table = pa.table(
        {
            "topic": ["t", "t"],
            "value": ["a", "b"],
            "source_partition": [{"p": "p"}] * 2,
            "source_offset": [{"n": 1}, {"n": 2}],
        }
    )
    expected: list[bytes | None] = [b"a!", b"b!"] if transforms else [b"a", b"b"]
    assert stage.run(PollBoundary(), table, kind=WantsRecords, transforms=transforms) == [(expected, [2])]
    assert stage.link.heard[0] == "commit"


def test_a_record_that_cannot_be_written_leaves_nothing_of_its_poll(stage: Stage, record: Any) -> None:
    with pytest.raises(ToleranceExceededError):
        stage.run(PollBoundary(), [record("a", 1)], [record("b", 2), record("refused", 3)], transforms=SUFFIX)
    assert stage.memory.visible == [([b"a!"], [1])]


def test_figures(stage: Stage, record: Any) -> None:
    stage.run(PollBoundary(), [record("a", 1), record("drop", 2)], stage.after(2, None), transforms=SUFFIX)
    [(_, values)] = [heard for heard in stage.link.heard if heard[0] == "metrics"]
    assert values["source-record-poll-total"] == 2
    assert values["source-record-write-total"] == 1
    assert values["transactions-committed-total"] == 1
    assert values["transaction-size-max"] == 1
    assert (values["source-record-active-count"], values["source-record-active-count-max"]) == (0, 2)
    assert (values["offset-commit-success-percentage"], values["offset-commit-failure-percentage"]) == (1, 0)


class MemoryCommits:
    """At-least-once in memory: records are delivered when served; commits succeed as ``answers`` say."""

    def __init__(self, *answers: bool) -> None:
        self.log: list[Any] = []
        self._answers = list(answers)
        self._sent: list[SourceBatch] = []
        self._delivered: list[Any] = []
        self._offsets: list[SourceOffset] = []
        self._committed: list[SourceOffset] = []
        self.late = False
        self._last = 0.0  # Far from the clock: the first poll is due.

    def send(self, batch: SourceBatch) -> None:
        self._sent.append(batch)

    @property
    def in_flight(self) -> int:
        return sum(batch.size for batch in self._sent)

    @property
    def is_late(self) -> bool:
        return self.late

    def serve(self) -> None:
        for batch in self._sent:
            for topic in batch.all_topic_batches:
                sources = topic.sources or ()
                self._delivered += [WrittenRecords("t", sources, [(row, 0, 0, None) for row in range(len(sources))])]
            self._offsets += batch.offsets.values()
        self._sent = []

    def due(self, now: float) -> bool:
        due, self._last = now - self._last >= 10, now
        return due

    def commit(self) -> bool:
        self.log.append("commit")
        if not (self._answers.pop(0) if self._answers else True):
            self.late = True
            return False
        self.late = False
        self._committed, self._offsets = self._offsets, []
        return bool(self._committed)

    def flush(self) -> None:
        self.log.append("flush")
        self.serve()

    def take_committed(self) -> Sequence[SourceOffset]:
        taken, self._committed = self._committed, []
        return taken

    def take_delivered(self) -> tuple[Any, list[Any]]:
        taken, self._delivered = self._delivered, []
        return taken, []


def run_at_least_once(
    stage: Stage, commits: MemoryCommits, *script: Any, transforms: dict[str, str] | None = None
) -> list[Any]:
    poller, batches, notifier, metrics = stage.parts(script, WantsRecords, transforms or {})
    WorkerSourceTask(poller, batches, commits, notifier, metrics, stage.clock).execute()
    return [heard for heard in stage.link.heard if heard[0] != "metrics"]


def test_at_least_once_reports_records_at_once_and_offsets_when_due(stage: Stage, record: Any) -> None:
    commits = MemoryCommits(True, True)
    after = stage.after
    heard = run_at_least_once(stage, commits, [record("a", 1)], after(1, [record("b", 2)]), after(10, [record("c", 3)]))
    assert heard == [
        ("record", "a", 0),
        "commit",
        ("topics", ["t"]),
        ("offsets", [({"p": "p"}, {"n": 1})]),
        ("record", "b", 0),
        ("record", "c", 0),
        "commit",
        ("topics", ["t"]),
        ("offsets", [({"p": "p"}, {"n": 2}), ({"p": "p"}, {"n": 3})]),
    ]
    assert commits.log == ["commit", "commit", "flush", "commit"]


def test_records_are_not_kept_until_the_next_commit(stage: Stage, record: Any) -> None:
    calls: list[Any] = []
    look = lambda: calls.append(stage.link.heard[-1])  # noqa: E731
    run_at_least_once(stage, MemoryCommits(), [record("a", 1)], [record("b", 2)], look)
    assert calls == [("record", "b", 0)]


def test_a_commit_that_did_not_succeed_is_not_notified(stage: Stage, record: Any) -> None:
    commits = MemoryCommits(False, True)
    heard = run_at_least_once(stage, commits, [record("a", 1)])
    assert heard == [("record", "a", 0), "commit", ("topics", ["t"]), ("offsets", [({"p": "p"}, {"n": 1})])]
    assert commits.log == ["commit", "flush", "commit"]


# ---- records that fail


@pytest.fixture
def tolerant(stage: Stage) -> Stage:
    """Sets what fails aside, in topic ``dead``."""
    stage.handling = {"tolerates": True}
    stage.dead_letters = SourceDeadLetters("dead")
    add, metrics = stage.dead_letters.add, stage.errors.metrics
    reporter: Any = DeadLetterQueueReporter(ConnectorTaskId("c", 0), True, add, metrics)
    stage.errors.report = reporter.report
    return stage


def test_what_is_set_aside_is_in_the_transaction_of_its_offset(tolerant: Stage, record: Any) -> None:
    script = [[record("a", 1), record("bad", 2)], [record("refused", 3)], [record("b", 4)]]
    visible = tolerant.run(PollBoundary(), *script, transforms=SUFFIX)
    assert visible == [([b"a!", b'"bad"'], [2]), ([b'"refused"'], [3]), ([b"b!"], [4])]
    assert ("topics", ["t"]) in tolerant.link.heard


def test_the_task_gets_records_set_aside_as_those_dropped(tolerant: Stage, record: Any) -> None:
    tolerant.run(PollBoundary(), [record("bad", 1), record("a", 2)], kind=WantsRecords, transforms=SUFFIX)
    assert tolerant.link.heard[:3] == [("record", "a", 0), ("record", "bad", None), "commit"]


def test_figures_of_commits_that_come_and_that_do_not(stage: Stage, record: Any) -> None:
    commits = MemoryCommits(False, True)
    after = stage.after
    run_at_least_once(stage, commits, [record("a", 1)], after(11, [record("b", 2)]), after(2, None))
    values = [heard[1] for heard in stage.link.heard if heard[0] == "metrics"][-1]
    assert (values["offset-commit-failure-total"], values["offset-commit-success-percentage"]) == (1, 0.5)
    assert (values["source-record-active-count"], values["source-record-active-count-max"]) == (0, 1)


def test_figures_count_what_was_set_aside(tolerant: Stage, record: Any) -> None:
    script = [[record("a", 1), record("bad", 2)], tolerant.after(2, None)]
    tolerant.run(PollBoundary(), *script, transforms=SUFFIX)
    [(_, values)] = [heard for heard in tolerant.link.heard if heard[0] == "metrics"]
    assert (values["source-record-poll-total"], values["source-record-write-total"]) == (2, 1)


def test_a_row_of_a_table_is_set_aside(tolerant: Stage) -> None:
    table = pa.table(
        {
            "topic": ["t", "t"],
            "value": ["a", "bad"],
            "source_partition": [{"p": "p"}] * 2,
            "source_offset": [{"n": 1}, {"n": 2}],
        }
    )
    assert tolerant.run(PollBoundary(), table, transforms=SUFFIX) == [([b"a!", b'"bad"'], [2])]


def test_skipped_without_a_topic_for_it(stage: Stage, record: Any) -> None:
    stage.handling = {"tolerates": True}
    assert stage.run(PollBoundary(), [record("bad", 1)], [record("a", 2)], transforms=SUFFIX) == [
        ([], [1]),
        ([b"a!"], [2]),
    ]


def test_a_stop_while_a_record_is_tried_again_leaves_its_poll_for_the_next_attempt(stage: Stage, record: Any) -> None:
    def stop() -> bool:
        stage.control.stop()
        return True

    stage.handling = {"tolerates": True, "retry_timeout": None}
    stage.errors.on_wait = stop
    boundary = IntervalBoundary(10.0, stage.clock.now)
    visible = stage.run(boundary, [record("a", 1)], [record("b", 2), record("later", 3)], transforms=SUFFIX)
    assert visible == [([b"a!"], [1])]
    assert stage.errors.reported == []


def test_at_least_once_sends_and_waits_for_what_is_set_aside(tolerant: Stage, record: Any) -> None:
    commits = MemoryCommits()
    sent: list[SourceBatch] = []
    commits_send = commits.send
    commits.send = lambda batch: (sent.append(batch), commits_send(batch))[1]  # type: ignore[method-assign]
    heard = run_at_least_once(tolerant, commits, [record("a", 1), record("bad", 2)], transforms=SUFFIX)
    [batch] = sent
    assert [(t.topic, t.values) for t in batch.all_topic_batches] == [("t", [b"a!"]), ("dead", [b'"bad"'])]
    assert (batch.size, batch.written) == (2, 1)
    assert heard[-1] == ("offsets", [({"p": "p"}, {"n": 2})])


def test_at_least_once_stops_while_a_record_is_tried_again(stage: Stage, record: Any) -> None:
    stage.handling = {"retry_timeout": None}
    stage.errors.on_wait = lambda: True
    commits = MemoryCommits()
    heard = run_at_least_once(stage, commits, [record("a", 1)], [record("later", 2)], transforms=SUFFIX)
    assert heard[-1] == ("offsets", [({"p": "p"}, {"n": 1})])
    assert commits.log == ["commit", "flush", "commit"]
