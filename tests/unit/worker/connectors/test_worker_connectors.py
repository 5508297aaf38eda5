# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
import threading
import time
from typing import Any

import pytest

from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.model.state import TargetState
from headrace.worker.worker import Worker
from tests.support.polling import wait_for
from tests.unit.worker import support_connectors as support

WAIT = 5


@pytest.fixture(autouse=True)
def fresh() -> None:
    support.CALLS.clear()
    support.INSTANCES.clear()
    support.GATES.clear()


def start(worker: Worker, config: Any, callbacks: Any, target: TargetState = TargetState.STARTED) -> None:
    worker.start_connector(config["name"], config, target, callbacks).result(WAIT)


def test_start_and_stop(worker: Worker, status: Any, callbacks: Any, source_config: Any) -> None:
    start(worker, source_config(), callbacks)
    assert worker.is_running("c")
    assert worker.version("c") == "1.2"
    worker.stop_connector("c").result(WAIT)
    assert status.of("c") == ["startup", "shutdown"]
    assert support.CALLS["c"] == ["start", "stop"]
    assert not worker.connector_names()


def test_pause_stop_and_resume_use_fresh_instances(
    worker: Worker, status: Any, callbacks: Any, source_config: Any
) -> None:
    start(worker, source_config(), callbacks)
    first = support.INSTANCES["c"]
    for state in (TargetState.PAUSED, TargetState.STOPPED, TargetState.STARTED, TargetState.STARTED):
        worker.set_connector_target_state("c", state).result(WAIT)
    assert support.CALLS["c"] == ["start", "stop", "start"]
    assert support.INSTANCES["c"] is not first
    assert status.of("c") == ["startup", "pause", "stop", "running"]


def test_started_paused_it_has_no_instance(worker: Worker, status: Any, callbacks: Any, source_config: Any) -> None:
    start(worker, source_config(), callbacks, TargetState.PAUSED)
    assert "c" not in support.CALLS
    assert status.of("c") == ["pause"]
    assert not worker.is_running("c")
    with pytest.raises(ConnectError, match="is paused"):
        worker.connector_task_configs("c").result(WAIT)


def test_what_start_raises_is_its_status(worker: Worker, status: Any, callbacks: Any, source_config: Any) -> None:
    with pytest.raises(ConnectError, match="Connector c failed to start: boom"):
        start(worker, source_config(fail_in="start"), callbacks)
    reason, begin = status.await_event("failure", "c").splitlines()[:2]
    assert reason.endswith("boom") and begin.startswith("Traceback")
    assert support.CALLS["c"] == ["start", "stop"]
    with pytest.raises(ConnectError, match="has to be restarted"):
        worker.set_connector_target_state("c", TargetState.STARTED).result(WAIT)
    worker.stop_connector("c").result(WAIT)
    assert status.of("c") == ["failure"]


def test_a_users_mistake_has_no_trace(worker: Worker, status: Any, callbacks: Any, source_config: Any) -> None:
    with pytest.raises(ConnectError):
        start(worker, source_config(fail_in="start", fail_with="config"), callbacks)
    assert status.await_event("failure", "c") == "Invalid value 'x' for configuration file: no such file"


@pytest.mark.parametrize(
    ("change", "text"),
    [({"connector.class": "FileStreamSorce"}, "did you mean 'FileStreamSource'"), ({"tasks.max": "0"}, "tasks.max")],
)
def test_bad_configuration(
    worker: Worker, status: Any, callbacks: Any, source_config: Any, change: dict[str, str], text: str
) -> None:
    with pytest.raises(ConnectError, match=text):
        start(worker, source_config() | change, callbacks)
    trace = status.await_event("failure", "c")
    assert text in trace
    assert "\n" not in trace


def test_task_configs_get_class_and_stay_as_they_are(worker: Worker, callbacks: Any, source_config: Any) -> None:
    start(worker, source_config(), callbacks)
    task_class = f"{support.__name__}.ObedientTask"
    assert worker.connector_task_configs("c").result(WAIT) == [
        {"n": "0", "task.class": task_class},
        {"n": "1", "task.class": task_class},
    ]


def test_task_configs_are_javas_for_a_built_in(worker: Worker, callbacks: Any, tmp_path: Any) -> None:
    config = {"connector.class": "FileStreamSource", "tasks.max": "1", "file": str(tmp_path / "input.txt")}
    config |= {"name": "file-source", "topic": "eos-lines"}
    start(worker, config, callbacks)
    expected = [config | {"task.class": "org.apache.kafka.connect.file.FileStreamSourceTask"}]
    assert worker.connector_task_configs("file-source").result(WAIT) == expected


def test_sinks_get_their_topics(worker: Worker, callbacks: Any, source_config: Any) -> None:
    sink = source_config("s", topics="a,b") | {"connector.class": f"{support.__name__}:ObedientSink"}
    start(worker, sink, callbacks)
    configs = worker.connector_task_configs("s").result(WAIT)
    assert [each["topics"] for each in configs] == ["a,b", "a,b"]
    assert worker.connector_type(sink) == "sink"


def test_tasks_max_is_enforced_by_default(worker: Worker, status: Any, callbacks: Any, source_config: Any) -> None:
    start(worker, source_config(tasks="3"), callbacks)
    with pytest.raises(ConnectError, match=r"made 3 tasks, more than tasks\.max=2"):
        worker.connector_task_configs("c").result(WAIT)
    assert status.of("c") == ["startup", "failure"]
    start(worker, source_config("d", tasks="3", tasks_max_enforce="false"), callbacks)
    assert len(worker.connector_task_configs("d").result(WAIT)) == 3


@pytest.mark.parametrize("result", ["none", "strings", "ints", "text"])
def test_nonsense_from_task_configs(
    worker: Worker, status: Any, callbacks: Any, source_config: Any, result: str
) -> None:
    start(worker, source_config(result=result), callbacks)
    with pytest.raises(ConnectError, match="task_configs of connector c"):
        worker.connector_task_configs("c").result(WAIT)
    assert status.of("c") == ["startup", "failure"]


def test_a_retriable_error_does_not_fail_the_connector(
    worker: Worker, status: Any, callbacks: Any, source_config: Any
) -> None:
    start(worker, source_config(fail_in="task_configs", fail_with="retriable"), callbacks)
    with pytest.raises(RetriableError):
        worker.connector_task_configs("c").result(WAIT)
    assert status.of("c") == ["startup"]
    assert worker.is_running("c")


def test_the_context_reaches_herder_and_status(
    worker: Worker, status: Any, offsets: Any, callbacks: Any, source_config: Any
) -> None:
    start(worker, source_config(), callbacks)
    context = support.INSTANCES["c"].context
    context.request_task_reconfiguration()
    assert callbacks.reconfigured == ["c"]
    offsets.stored[b'["c",{"file":"a"}]'] = b'{"position":3}'
    assert context.offset_storage_reader.offsets([{"file": "b"}, {"file": "a"}]) == [None, {"position": 3}]
    context.raise_error(RuntimeError("lost the database"))
    assert "lost the database" in status.await_event("failure", "c")
    assert not worker.is_running("c")


def test_a_stuck_method_names_itself_and_is_abandoned(
    worker: Worker, status: Any, callbacks: Any, source_config: Any
) -> None:
    gate = support.GATES["c"] = threading.Event()
    started = worker.start_connector("c", source_config(block_in="start"), TargetState.STARTED, callbacks)
    try:
        blocked = wait_for(worker.blocked, WAIT, "a blocked method")
        assert len(blocked) == 1
        assert re.fullmatch(r"start of connector c since \d+ s", blocked[0])
        worker.stop_connector("c").result(WAIT)
        assert status.of("c") == ["shutdown"]
        start(worker, source_config(), callbacks)
    finally:
        gate.set()
    started.result(WAIT)
    worker.stop_connector("c").result(WAIT)
    assert status.of("c") == ["shutdown", "startup", "shutdown"]


def test_one_slow_connector_does_not_hold_up_others(worker: Worker, callbacks: Any, source_config: Any) -> None:
    gate = support.GATES["slow"] = threading.Event()
    slow = worker.start_connector("slow", source_config("slow", block_in="start"), TargetState.STARTED, callbacks)
    start(worker, source_config("quick"), callbacks)
    assert not slow.done()
    gate.set()
    slow.result(WAIT)


def test_twice_and_not_at_all(worker: Worker, callbacks: Any, source_config: Any) -> None:
    start(worker, source_config(), callbacks)
    with pytest.raises(ConnectError, match="already on this worker"):
        start(worker, source_config(), callbacks)
    with pytest.raises(ConnectError, match="not on this worker"):
        worker.connector_task_configs("other").result(WAIT)
    worker.stop_connector("other").result(WAIT)


def test_types(worker: Worker, source_config: Any) -> None:
    assert worker.connector_type(source_config()) == "source"
    assert worker.connector_type({"connector.class": "Nothing"}) == "unknown"
    assert worker.connector_type({}) == "unknown"


def test_a_config_error_of_the_request_is_one(worker: Worker, callbacks: Any, source_config: Any) -> None:
    future = worker.start_connector("c", source_config() | {"tasks.max": "x"}, TargetState.STARTED, callbacks)
    assert isinstance(future.exception(WAIT), ConfigError)


def shown(worker: Worker) -> dict[str, float]:
    """The values of the connector's own metrics, by names without what follows them."""
    return {name.partition("?")[0]: value for name, value in worker.figures().connectors["c"].values.items()}


def test_metrics_of_its_own_are_those_of_the_present_instance(
    worker: Worker, callbacks: Any, source_config: Any
) -> None:
    start(worker, source_config(), callbacks)
    assert shown(worker) == {}
    threads: list[str] = []
    former = support.INSTANCES["c"].context.plugin_metrics()
    former.counter("tables-total", "Tables.", {"database": "a"}).add(2)
    former.gauge("lag", "The lag.", lambda: threads.append(threading.current_thread().name) or 7)
    wait_for(lambda: shown(worker) == {"plugins/tables-total": 2, "plugins/lag": 7}, WAIT, lambda: f"{shown(worker)}")
    assert set(threads) == {"connector c"}
    with pytest.raises(ConnectError, match="may not have a tag connector"):
        former.gauge("odd", "Odd.", lambda: 1, {"connector": "d"})
    worker.set_connector_target_state("c", TargetState.PAUSED).result(WAIT)
    assert shown(worker) == {}
    worker.set_connector_target_state("c", TargetState.STARTED).result(WAIT)
    former.counter("late-total", "Of an instance that is stopped.")
    assert shown(worker) == {}
    support.INSTANCES["c"].context.plugin_metrics().counter("tables-total", "Tables.")
    wait_for(lambda: shown(worker) == {"plugins/tables-total": 0}, WAIT, lambda: f"{shown(worker)}")


def test_a_metric_that_hangs_blocks_no_other(worker: Worker, callbacks: Any, source_config: Any) -> None:
    start(worker, source_config(), callbacks)
    metrics, answers = support.INSTANCES["c"].context.plugin_metrics(), threading.Event()
    counter = metrics.counter("tables-total", "Tables.")
    wait_for(lambda: shown(worker) == {"plugins/tables-total": 0}, WAIT, lambda: f"{shown(worker)}")
    metrics.gauge("hanging", "It hangs.", lambda: answers.wait(60))
    counter.add()
    began = time.monotonic()
    for _ in range(100):  # all but the first of them at once
        assert shown(worker) == {"plugins/tables-total": 0}
    assert time.monotonic() - began < 5
    answers.set()
    wait_for(
        lambda: shown(worker) == {"plugins/tables-total": 1, "plugins/hanging": 1}, WAIT, lambda: f"{shown(worker)}"
    )
