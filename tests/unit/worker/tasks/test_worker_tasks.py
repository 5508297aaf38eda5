# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import logging
import threading
import time
from typing import Any

import pytest

from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.model.health import Handling, Progress, Stage, TaskError
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import ConnectorOffset
from headrace.model.state import TargetState
from headrace.task.task_protocol import (
    AttemptStarted,
    ConfirmStart,
    ErrorMet,
    Failed,
    Measured,
    Metrics,
    OffsetsCommitted,
    Paused,
    ReadOffsets,
    Restarting,
    Running,
    TopicsUsed,
)
from headrace.task.task_spec import TaskKind
from headrace.worker.offsets.own_offset_topics import OwnOffsetTopics
from headrace.worker.tasks.task_figures import NO_ERRORS
from headrace.worker.worker import Worker
from tests.support.polling import wait_for
from tests.unit.worker import support_connectors as support

WAIT = 5
TASK = ConnectorTaskId("c", 0)
TASK_CONFIG = {"task.class": f"{support.__name__}.ObedientTask", "n": "0"}


def start(worker: Worker, config: Any, callbacks: Any, id: ConnectorTaskId = TASK, **task_config: str | None) -> None:
    worker.start_task(id, config, TASK_CONFIG | task_config, TargetState.STARTED, callbacks)


def test_the_spec_of_a_source_task(worker: Worker, launcher: Any, callbacks: Any, source_config: Any) -> None:
    start(worker, source_config() | {"producer.override.linger.ms": "5"}, callbacks, nothing=None)
    spec = launcher.launched(TASK).spec
    assert (spec.id, spec.kind, spec.exactly_once, spec.offsets_topic) == (TASK, TaskKind.SOURCE, True, "offsets")
    assert spec.task_class == f"{support.__name__}:ObedientTask"
    assert spec.task_config == TASK_CONFIG
    assert (spec.producer["transactional.id"], spec.producer["linger.ms"]) == ("g-c-0", "5")
    assert spec.consumer == {}
    assert spec.worker_config["group.id"] == "g"


def test_the_spec_of_a_sink_task(worker: Worker, launcher: Any, callbacks: Any, source_config: Any) -> None:
    config = source_config(topics="t") | {"connector.class": f"{support.__name__}:ObedientSink"}
    start(worker, config, callbacks)
    spec = launcher.launched(TASK).spec
    assert (spec.kind, spec.exactly_once, spec.offsets_topic, spec.producer) == (TaskKind.SINK, False, "", {})
    assert spec.consumer["group.id"] == "connect-c"


def test_what_spark_runs(worker: Worker, launcher: Any, callbacks: Any, source_config: Any) -> None:
    start(worker, source_config(), callbacks)
    other = ConnectorTaskId("d", 1)
    start(worker, source_config(), callbacks, other)
    launcher.launched(TASK)
    launcher.launched(other)
    found = worker.spark_attempts("d").result(WAIT)
    assert {number: attempt.pid for number, attempt in found.items()} == {1: 42}
    worker.stop_tasks([other]).result(WAIT)
    assert worker.spark_attempts("d").result(WAIT) == {}


def test_topics_are_to_be_reported_again_by_all_tasks_of_a_connector(
    worker: Worker, launcher: Any, callbacks: Any, source_config: Any
) -> None:
    second, other = ConnectorTaskId("c", 1), ConnectorTaskId("d", 0)
    for id in (TASK, second, other):
        start(worker, source_config(id.connector), callbacks, id)
    handles = {id: launcher.launched(id) for id in (TASK, second, other)}
    worker.forget_topics("c")
    worker.forget_topics("none")
    wait_for(lambda: [handles[id].calls for id in (TASK, second)] == [["forget topics"]] * 2, WAIT)
    assert handles[other].calls == []


def test_the_newest_error_is_kept(worker: Worker, launcher: Any, callbacks: Any, source_config: Any) -> None:
    start(worker, source_config(), callbacks)
    listener = launcher.launched(TASK).listener
    assert listener.record.last_error is None
    met = TaskError("E", "not now", Stage.POLLING, Handling.RETRIED, 1)
    listener.on_event(TASK, ErrorMet(met))
    assert listener.record.last_error == met
    # An attempt that reports none, and one that does.
    listener.on_event(TASK, Restarting("its process 4711 was lost"))
    lost = listener.record.last_error
    assert (lost.message, lost.handling) == ("its process 4711 was lost", Handling.RETRIED)
    final = TaskError("DataError", "no JSON", Stage.CONVERTING, Handling.FAILED, 2, {"topic": "t"})
    listener.on_event(TASK, Failed("DataError: no JSON\nTraceback", final))
    assert listener.record.last_error == final


def test_each_change_of_a_tasks_phase_is_reported_once(
    worker: Worker, launcher: Any, status: Any, callbacks: Any, source_config: Any
) -> None:
    start(worker, source_config(), callbacks)
    handle = launcher.launched(TASK)
    listener = handle.listener
    listener.on_event(TASK, AttemptStarted(0, 4711))
    listener.on_event(TASK, Running())
    worker.set_task_target_state(TASK, TargetState.PAUSED)
    worker.set_task_target_state(TASK, TargetState.PAUSED)
    listener.on_event(TASK, Paused())
    worker.set_task_target_state(TASK, TargetState.STARTED)
    listener.on_event(TASK, Running())
    listener.on_event(TASK, Restarting("executor lost"))
    listener.on_event(TASK, Running())
    listener.on_event(TASK, TopicsUsed(["t", "u"]))
    listener.on_event(TASK, Metrics({"polls": 3.0}))
    ends = dict.fromkeys(("waiting-for-cores", "task-restarts-total", "task-fencings-total", "task-taints-total"), 0.0)
    assert worker.task_metrics() == {TASK: {**NO_ERRORS, "polls": 3.0, **ends}}
    assert worker.task_ids() == {TASK}
    worker.stop_tasks([TASK]).result(WAIT)
    assert handle.calls == ["pause", "resume", "stop"]
    assert status.of(TASK) == ["startup", "pause", "running", "restart", "running", "topics", "shutdown"]
    assert not worker.task_ids()


def test_failed_stays_failed_until_stopped(
    worker: Worker, launcher: Any, status: Any, callbacks: Any, source_config: Any
) -> None:
    start(worker, source_config(), callbacks)
    handle = launcher.launched(TASK)
    handle.listener.on_event(TASK, Failed("boom"))
    handle.end()
    assert worker.task_ids() == {TASK}
    worker.stop_tasks([TASK]).result(WAIT)
    assert status.of(TASK) == ["failure"]
    assert not worker.task_ids()


def test_an_attempt_goes_on_only_if_the_task_is_still_ours(
    worker: Worker, launcher: Any, callbacks: Any, source_config: Any
) -> None:
    start(worker, source_config(), callbacks)
    handle = launcher.launched(TASK)
    handle.stubborn = True
    assert handle.listener.answer(TASK, ConfirmStart())
    callbacks.mine = lambda id: False
    assert not handle.listener.answer(TASK, ConfirmStart())
    callbacks.mine = lambda id: True
    stopping = worker.stop_tasks([TASK])
    assert not handle.listener.answer(TASK, ConfirmStart())
    handle.end()
    stopping.result(WAIT)


def test_offsets_are_read_or_a_retriable_error(
    worker: Worker, launcher: Any, offsets: Any, callbacks: Any, source_config: Any
) -> None:
    offsets.stored[b'["c",{"file":"a"}]'] = b'{"position":3}'
    start(worker, source_config(), callbacks)
    listener = launcher.launched(TASK).listener
    assert listener.answer(TASK, ReadOffsets([{"file": "a"}, {"file": "b"}])) == [{"position": 3}, None]
    offsets.hangs = True
    with pytest.raises(RetriableError, match=r"not read in 0\.2 s: waiting for a broker"):
        listener.answer(TASK, ReadOffsets([{"file": "a"}]))
    with pytest.raises(RetriableError, match="waiting for a broker"):
        worker.connector_offsets("c", source_config()).result(WAIT)


def test_committed_offsets_stay_where_they_are(
    worker: Worker, launcher: Any, offsets: Any, callbacks: Any, source_config: Any
) -> None:
    start(worker, source_config(), callbacks)
    launcher.launched(TASK).listener.on_event(TASK, OffsetsCommitted([({"file": "a"}, {"position": 1})]))
    assert offsets.written == {}


def own_topic(monkeypatch: pytest.MonkeyPatch, opened: Any) -> dict[str, str]:
    def store(topics: Any, config: Any, source: Any) -> Any:
        if isinstance(opened, Exception):
            raise opened
        return opened

    monkeypatch.setattr(OwnOffsetTopics, "get_store", store)
    return {"offsets.storage.topic": "own"}


def test_an_own_topic_that_cannot_be_used_fails_the_task_before_it_has_a_producer(
    worker: Worker,
    launcher: Any,
    status: Any,
    callbacks: Any,
    source_config: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = own_topic(monkeypatch, ConfigError("not compacted", "offsets.storage.topic", "own"))
    start(worker, source_config() | own, callbacks)
    assert status.await_event("failure", TASK) == "not compacted"
    assert TASK not in launcher.handles


def test_an_own_topic_that_cannot_be_used_yet_is_each_attempts_to_find_out(
    worker: Worker,
    launcher: Any,
    callbacks: Any,
    source_config: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start(worker, source_config() | own_topic(monkeypatch, RetriableError("no broker")), callbacks)
    handle = launcher.launched(TASK)
    with pytest.raises(RetriableError, match="no broker"):
        handle.listener.answer(TASK, ConfirmStart())


def test_those_of_an_own_topic_are_copied(
    worker: Worker,
    launcher: Any,
    offsets: Any,
    callbacks: Any,
    source_config: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start(worker, source_config() | own_topic(monkeypatch, offsets), callbacks)
    handle = launcher.launched(TASK)
    assert handle.spec.offsets_topic == "own"
    handle.listener.on_event(TASK, OffsetsCommitted([({"file": "a"}, {"position": 1})]))
    wait_for(lambda: offsets.written == {b'["c",{"file":"a"}]': b'{"position":1}'}, WAIT, "the copy")
    wait_for(lambda: worker.task_metrics()[TASK]["global-offset-copy-pending"] == 0, WAIT, "the end of the lag")


def test_connector_offsets(worker: Worker, offsets: Any, source_config: Any) -> None:
    offsets.stored = {b'["c",{"file":"a"}]': b'{"position":3}', b'["cc",{"file":"a"}]': b'{"position":4}'}
    found = worker.connector_offsets("c", source_config()).result(WAIT)
    assert found == (ConnectorOffset({"file": "a"}, {"position": 3}),)


def test_many_stubborn_tasks_share_one_deadline(
    worker: Worker, launcher: Any, status: Any, callbacks: Any, source_config: Any, caplog: pytest.LogCaptureFixture
) -> None:
    launcher.stubborn = True
    ids = [ConnectorTaskId("c", n) for n in range(6)]
    for id in ids:
        start(worker, source_config(), callbacks, id)
        launcher.launched(id)
    began = time.monotonic()
    worker.stop_tasks(ids).result(WAIT)
    assert 0.2 <= time.monotonic() - began < 1
    assert all(launcher.handles[id].calls == ["stop", "kill"] for id in ids)
    assert not worker.task_ids()
    assert "c-5 has not stopped within 0.2 s" in caplog.text


def test_a_stop_does_not_end_before_the_process(
    worker: Worker, launcher: Any, status: Any, callbacks: Any, source_config: Any
) -> None:
    launcher.stubborn = launcher.immortal = True
    start(worker, source_config(), callbacks)
    handle = launcher.launched(TASK)
    stopping = worker.stop_tasks([TASK])
    with pytest.raises(TimeoutError):
        stopping.result(0.5)
    assert handle.calls == ["stop", "kill"]
    assert worker.task_ids() == {TASK}
    with pytest.raises(ConnectError, match="already on this worker"):
        start(worker, source_config(), callbacks)
    handle.end()
    stopping.result(WAIT)
    start(worker, source_config(), callbacks)


@pytest.mark.parametrize(
    ("connector", "task", "text"),
    [
        ({"connector.class": "Nothing"}, {}, "no such connector"),
        ({}, {"task.class": None}, "lacks task.class"),
        ({"producer.override.sasl.kerberos.kinit.cmd": "x"}, {}, "names a program to run"),
        ({"transaction.boundary": "never"}, {}, "transaction.boundary"),
    ],
)
def test_what_cannot_be_launched_has_failed(
    worker: Worker,
    launcher: Any,
    status: Any,
    callbacks: Any,
    source_config: Any,
    connector: dict[str, str],
    task: dict[str, str | None],
    text: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    start(worker, source_config() | connector, callbacks, TASK, **task)
    trace = status.await_event("failure", TASK)
    assert text in trace
    assert f"Task {TASK} cannot be started: {trace}" in caplog.messages
    assert "\n" not in trace
    assert not launcher.handles
    worker.stop_tasks([TASK]).result(WAIT)


def test_an_engine_that_cannot_launch(
    worker: Worker, launcher: Any, status: Any, callbacks: Any, source_config: Any, caplog: pytest.LogCaptureFixture
) -> None:
    launcher.error = RuntimeError("no Java")
    start(worker, source_config(), callbacks)
    assert "no Java" in status.await_event("failure", TASK)
    assert f"Task {TASK} cannot be started: RuntimeError: no Java" in caplog.messages


def test_a_task_that_is_no_longer_ours_gets_no_process(
    worker: Worker, launcher: Any, status: Any, callbacks: Any, source_config: Any
) -> None:
    """Its `init_transactions` would fence the successor (KIP-618, step 3 of a task's start)."""
    asked = threading.Event()
    callbacks.mine = lambda id: asked.set() or False
    start(worker, source_config(), callbacks)
    assert asked.wait(WAIT)
    worker.stop_tasks([TASK]).result(WAIT)
    assert status.of(TASK) == ["shutdown"] and TASK not in launcher.handles


def test_a_task_starts_where_it_is_unknown_whether_it_is_ours(
    worker: Worker, launcher: Any, callbacks: Any, source_config: Any
) -> None:
    """It is asked again before it polls (invariant 4)."""

    def unknown(id: ConnectorTaskId) -> bool:
        raise RetriableError("the config topic cannot be read")

    callbacks.mine = unknown
    start(worker, source_config(), callbacks)
    listener = launcher.launched(TASK).listener
    with pytest.raises(RetriableError):
        listener.answer(TASK, ConfirmStart())


def test_stopped_before_it_was_launched(
    worker: Worker,
    launcher: Any,
    status: Any,
    callbacks: Any,
    source_config: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate = threading.Event()
    target = worker.plugins.task_target
    monkeypatch.setattr(worker.plugins, "task_target", lambda *asked: gate.wait(WAIT) and target(*asked))
    start(worker, source_config(), callbacks)
    worker.stop_tasks([TASK]).result(WAIT)
    gate.set()
    assert status.of(TASK) == ["shutdown"]
    start(worker, source_config(), callbacks, ConnectorTaskId("c", 1))
    launcher.launched(ConnectorTaskId("c", 1))
    assert TASK not in launcher.handles


def test_a_failure_while_stopping_is_only_logged(
    worker: Worker, launcher: Any, status: Any, callbacks: Any, source_config: Any, caplog: pytest.LogCaptureFixture
) -> None:
    launcher.stubborn = True
    start(worker, source_config(), callbacks)
    handle = launcher.launched(TASK)
    handle.listener.on_event(TASK, Running())
    stopping = worker.stop_tasks([TASK])
    with caplog.at_level(logging.WARNING):
        handle.listener.on_event(TASK, Failed("connection reset"))
    handle.end()
    stopping.result(WAIT)
    assert "connection reset" in caplog.text
    assert status.of(TASK) == ["startup", "shutdown"]


def test_the_worker_starts_and_stops_everything(
    worker: Worker, launcher: Any, status: Any, callbacks: Any, source_config: Any
) -> None:
    worker.start()
    assert launcher.started
    worker.start_connector("c", source_config(), TargetState.STARTED, callbacks).result(WAIT)
    start(worker, source_config(), callbacks)
    launcher.launched(TASK)
    worker.stop(WAIT)
    assert status.of("c") == ["startup", "shutdown"]
    assert status.of(TASK) == ["shutdown"]
    assert 0 < launcher.stopped_with <= WAIT


def test_unknown_tasks_are_stopped_already(worker: Worker) -> None:
    worker.stop_tasks([ConnectorTaskId("x", 0)]).result(WAIT)
    worker.set_task_target_state(ConnectorTaskId("x", 0), TargetState.PAUSED)


def test_facts_of_an_ended_task_stay(worker: Worker, launcher: Any, callbacks: Any, source_config: Any) -> None:
    start(worker, source_config(), callbacks)
    listener = launcher.launched(TASK).listener
    listener.on_event(TASK, AttemptStarted(0, 4711))
    listener.on_event(TASK, Measured(Progress(Stage.PUTTING, 3, last_record=7)))
    worker.stop_tasks([TASK]).result(10)
    assert TASK not in worker.task_ids()
    for connector in (TASK.connector, None):
        assert worker.task_facts(connector)[TASK].progress.stage is Stage.PUTTING
    assert worker.task_facts("another") == {}
    start(worker, source_config(), callbacks)
    assert worker.task_facts(None)[TASK].progress.stage is Stage.STARTING


@pytest.mark.parametrize("changed", [False, True])
def test_a_task_that_is_restarted_after_a_failure_keeps_its_facts(
    worker: Worker, launcher: Any, callbacks: Any, source_config: Any, changed: bool
) -> None:
    """It fails in a loop, perhaps: its last error must not be gone each time. That of another configuration is."""
    start(worker, source_config(), callbacks)
    listener = launcher.launched(TASK).listener
    listener.on_event(TASK, AttemptStarted(0, 4711))
    listener.on_event(TASK, Measured(Progress(Stage.PUTTING, 3, last_record=7)))
    listener.on_event(TASK, Failed("disk full", TaskError("OSError", "disk full", Stage.PUTTING, Handling.FAILED, 0)))
    worker.stop_tasks([TASK]).result(10)
    start(worker, source_config(**({"x": "y"} if changed else {})), callbacks)
    facts = worker.task_facts(None)[TASK]
    assert facts.progress.stage is Stage.STARTING and facts.silent is None
    assert (facts.last_error is None, facts.progress.last_record is None) == (changed, changed)


@pytest.mark.parametrize("where", ["connector", "task"])
def test_a_command_that_the_worker_does_not_allow_starts_no_task(
    where: str, worker: Worker, launcher: Any, callbacks: Any, status: Any, source_config: Any
) -> None:
    command = {"singer.command": "tap-x"}
    connector, task = (command, {}) if where == "connector" else ({}, command)
    start(worker, source_config() | connector, callbacks, **task)
    trace = status.await_event("failure", TASK)
    assert "connector c may not start this program: the worker's singer.commands.allowed does not have it" in trace
