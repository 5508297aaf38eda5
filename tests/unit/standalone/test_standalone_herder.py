# SPDX-License-Identifier: Apache-2.0
"""Everything is real but Spark's processes and the brokers."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.config.standalone_config import StandaloneConfig
from headrace.herder.engine.worker_herder import WorkerHerder
from headrace.herder.errors import AlreadyExistsError, BadRequestError, NotFoundError
from headrace.herder.herder import Herder
from headrace.model.health import Progress, Stage
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import ConnectorOffset, OffsetsChange
from headrace.model.state import TargetState
from headrace.plugins.discovery import Plugins
from headrace.standalone import offsets_file
from headrace.standalone.assembly import standalone_herder
from headrace.task.task_protocol import (
    AttemptStarted,
    ConfirmStart,
    Failed,
    Metrics,
    Paused,
    ReadOffsets,
    Running,
    TopicsUsed,
    WriteOffsets,
)
from tests.support.polling import wait_for
from tests.unit.worker import support_connectors as support
from tests.unit.worker.conftest import FakeHandle, FakeLauncher

WAIT = 5
T0, T1 = ConnectorTaskId("c", 0), ConnectorTaskId("c", 1)


def put(
    herder: WorkerHerder, config: Mapping[str, str], target: TargetState | None = None, replace: bool = False
) -> bool:
    name = config["name"]
    result = herder.put_connector_config(name, config, target_state=target, allow_replace=replace).result(WAIT)
    assert result.info.config == config
    return result.created


def started(herder: WorkerHerder, config: Mapping[str, str], target: TargetState | None = None) -> None:
    put(herder, config, target, replace=True)
    herder.connector_started(config["name"]).result(WAIT)


def handle(launcher: FakeLauncher, id: ConnectorTaskId, former: FakeHandle | None = None) -> FakeHandle:
    """The task's process, another one than ``former``."""
    wait_for(lambda: launcher.handles.get(id) not in (None, former), WAIT, f"a process of {id}")
    return launcher.handles[id]


def states(herder: WorkerHerder, name: str = "c") -> tuple[str, list[str]]:
    status = herder.connector_status(name)
    return status.connector.state, [task.state for task in status.tasks]


def test_it_is_a_herder(herder: WorkerHerder) -> None:
    as_herder: Herder = herder
    wait_for(lambda: as_herder.server_info().kafka_cluster_id == "cluster", WAIT)
    assert as_herder.failure() is None


def test_a_connector_and_its_tasks_start(herder: WorkerHerder, launcher: FakeLauncher, source_config: Any) -> None:
    assert put(herder, source_config())
    herder.connector_started("c").result(WAIT)
    for id in (T0, T1):
        assert handle(launcher, id).spec.offsets_topic == ""
        assert not launcher.handles[id].spec.exactly_once
        assert "transactional.id" not in launcher.handles[id].spec.producer
        launcher.handles[id].listener.on_event(id, Running())
    assert herder.connectors() == ("c",)
    info = herder.connector_info("c")
    assert (info.tasks, info.type) == ((T0, T1), "source")
    assert [task.config["n"] for task in herder.task_infos("c")] == ["0", "1"]
    assert states(herder) == ("RUNNING", ["RUNNING", "RUNNING"])
    connector = herder.connector_status("c").connector
    assert (connector.worker_id, connector.version) == ("here:8083", "1.2")


def test_health(herder: WorkerHerder, launcher: FakeLauncher, source_config: Any) -> None:
    assert put(herder, source_config())
    herder.connector_started("c").result(WAIT)
    for id in (T0, T1):
        handle(launcher, id).listener.on_event(id, Running())
    task, listener = T1, handle(launcher, T1).listener
    listener.on_event(task, AttemptStarted(0, 4711))
    listener.on_event(task, Metrics({"source-record-write-total": 5.0}, Progress(Stage.POLLING, 3, 2, 1)))
    health = herder.connector_health(["c", "none"]).result(WAIT)
    assert health.keys() == {"c"} and health["c"]["verdict"] == "healthy"
    first, second = health["c"]["tasks"]
    assert (first["stage"], first["records_per_second"], second["records_per_second"]) == ("starting", None, 5.0)
    assert (second["stage"], second["worker_id"], second["last_commit"]) == ("polling", "here:8083", None)
    assert launcher.handles[T1].calls == ["measure"] and launcher.handles[T0].calls == []
    # It has failed: what was known stays.
    listener.on_event(task, Failed("KeyError: 3"))
    launcher.handles[T1].end()
    failed = herder.connector_health(["c"]).result(WAIT)["c"]
    assert (failed["verdict"], failed["why"]) == ("failed", "Task 1: It has failed: KeyError: 3.")
    assert failed["tasks"][1]["last_record"] > 0 and failed["tasks"][1]["last_error"]["handling"] == "failed"


def test_what_is_not_there_is_not_found(herder: WorkerHerder) -> None:
    for query in (herder.connector_info, herder.connector_status, herder.task_infos):
        with pytest.raises(NotFoundError):
            query("none")
    for request in (
        herder.delete_connector("none"),
        herder.set_target_state("none", TargetState.PAUSED),
        herder.connector_offsets("none"),
    ):
        with pytest.raises(NotFoundError):
            request.result(WAIT)


def test_the_answer_to_a_new_configuration_names_properties_without_effect(
    herder: WorkerHerder, source_config: Any
) -> None:
    mistyped = source_config(task_max="2")
    answer = herder.put_connector_config("c", mistyped, target_state=None, allow_replace=False).result(WAIT)
    assert answer.info.warnings == ("task.max: no such property; did you mean 'tasks.max'?",)
    assert herder.connector_info("c").warnings is None
    patched = herder.patch_connector_config("c", {"task.max": None}).result(WAIT)
    assert patched.info.warnings is None


def test_a_name_is_given_once(herder: WorkerHerder, source_config: Any) -> None:
    put(herder, source_config())
    with pytest.raises(AlreadyExistsError, match="Connector c already exists"):
        put(herder, source_config(tasks="1"))
    assert "tasks" not in herder.connector_info("c").config


def test_a_configuration_is_checked_first(herder: WorkerHerder, source_config: Any) -> None:
    with pytest.raises(BadRequestError, match=r"tasks\.max"):
        put(herder, source_config(tasks_max="none"))
    with pytest.raises(BadRequestError, match="exactly-once source support"):
        put(herder, source_config(exactly_once_support="required"))
    assert herder.connectors() == ()


def test_a_new_configuration_replaces_instance_and_tasks(
    herder: WorkerHerder, launcher: FakeLauncher, source_config: Any
) -> None:
    started(herder, source_config())
    first = handle(launcher, T0)
    handle(launcher, T1)
    # The tasks' own configs are the same: converters are read from the connector's.
    assert not put(herder, source_config(tasks="1", header_converter="StringConverter"), replace=True)
    herder.connector_started("c").result(WAIT)
    second = handle(launcher, T0, first)
    assert second.spec.connector_config["header.converter"] == "StringConverter"
    assert first.gone.is_set() and launcher.handles[T1].gone.is_set()
    assert support.CALLS["c"] == ["start", "task_configs", "stop", "start", "task_configs"]
    second.listener.on_event(T0, Running())
    assert states(herder) == ("RUNNING", ["RUNNING"])


def test_equal_task_configs_leave_tasks_alone(herder: WorkerHerder, launcher: FakeLauncher, source_config: Any) -> None:
    started(herder, source_config())
    first = handle(launcher, T0)
    herder.request_task_reconfiguration("c")
    wait_for(lambda: support.CALLS["c"].count("task_configs") == 2, WAIT)
    herder.connector_started("c").result(WAIT)
    herder.set_target_state("c", TargetState.PAUSED).result(WAIT)  # behind whatever came of it
    wait_for(lambda: first.calls == ["pause"], WAIT, lambda: str(first.calls))
    assert not first.gone.is_set()


def test_what_a_connector_asks_for_is_done(herder: WorkerHerder, launcher: FakeLauncher, source_config: Any) -> None:
    started(herder, source_config(tasks_max="3", tasks="2"))
    first = handle(launcher, T0)
    instance: Any = support.INSTANCES["c"]
    instance.props["tasks"] = "3"
    instance.context.request_task_reconfiguration()
    handle(launcher, ConnectorTaskId("c", 2))
    assert handle(launcher, T0, first) is not first
    assert len(herder.task_infos("c")) == 3


def test_pause_and_resume(herder: WorkerHerder, launcher: FakeLauncher, source_config: Any) -> None:
    started(herder, source_config())
    first = handle(launcher, T0)
    first.listener.on_event(T0, Running())
    herder.set_target_state("c", TargetState.PAUSED).result(WAIT)
    wait_for(lambda: first.calls == ["pause"], WAIT)
    first.listener.on_event(T0, Paused())
    wait_for(lambda: states(herder) == ("PAUSED", ["PAUSED"]), WAIT, lambda: str(states(herder)))
    herder.set_target_state("c", TargetState.STARTED).result(WAIT)
    wait_for(lambda: first.calls == ["pause", "resume"], WAIT)
    wait_for(lambda: states(herder)[0] == "RUNNING", WAIT)
    assert launcher.handles[T0] is first


def test_created_paused_it_has_no_tasks_until_it_is_resumed(
    herder: WorkerHerder, launcher: FakeLauncher, source_config: Any
) -> None:
    started(herder, source_config(), TargetState.PAUSED)
    wait_for(lambda: states(herder) == ("PAUSED", []), WAIT)
    assert launcher.handles == {}
    herder.set_target_state("c", TargetState.STARTED).result(WAIT)
    handle(launcher, T1)


def test_stopped_it_has_no_tasks(herder: WorkerHerder, launcher: FakeLauncher, source_config: Any) -> None:
    started(herder, source_config())
    first = handle(launcher, T0)
    handle(launcher, T1)
    herder.set_target_state("c", TargetState.STOPPED).result(WAIT)
    wait_for(lambda: states(herder) == ("STOPPED", []), WAIT, lambda: str(states(herder)))
    assert first.gone.is_set()
    assert herder.connector_info("c").tasks == ()
    herder.set_target_state("c", TargetState.STARTED).result(WAIT)
    assert handle(launcher, T0, first) is not first


def test_removed_it_leaves_nothing(herder: WorkerHerder, launcher: FakeLauncher, source_config: Any) -> None:
    started(herder, source_config())
    first = handle(launcher, T0)
    herder.delete_connector("c").result(WAIT)
    assert first.gone.is_set()
    assert herder.connectors() == ()
    assert not herder.owns_task_generation(T0)
    with pytest.raises(NotFoundError):
        herder.connector_status("c")
    started(herder, source_config())
    assert handle(launcher, T0, first) is not first


def test_what_start_raises_is_reported_and_shown(herder: WorkerHerder, source_config: Any) -> None:
    put(herder, source_config(fail_in="start"))
    with pytest.raises(ConnectError, match="Connector c failed to start: boom"):
        herder.connector_started("c").result(WAIT)
    assert states(herder) == ("FAILED", [])
    started(herder, source_config())
    assert states(herder)[0] == "RUNNING"


def test_task_configs_are_asked_for_again_after_a_retriable_error(
    herder: WorkerHerder, launcher: FakeLauncher, source_config: Any
) -> None:
    put(herder, source_config(fail_in="task_configs", fail_with="retriable"))
    wait_for(lambda: "task_configs" in support.CALLS.get("c", ()), WAIT)
    instance: Any = support.INSTANCES["c"]
    del instance.props["fail.in"]
    herder.connector_started("c").result(WAIT)
    handle(launcher, T1)


def test_a_connector_that_hangs_can_be_removed_and_blocks_no_other(
    herder: WorkerHerder, launcher: FakeLauncher, source_config: Any
) -> None:
    support.GATES["stuck"] = threading.Event()
    put(herder, source_config("stuck", block_in="start"))
    wait_for(lambda: "stuck" in support.CALLS, WAIT)
    started(herder, source_config())
    handle(launcher, T0)
    herder.delete_connector("stuck").result(WAIT)
    assert herder.connectors() == ("c",)


def test_a_task_restarts(herder: WorkerHerder, launcher: FakeLauncher, source_config: Any) -> None:
    started(herder, source_config())
    first, other = handle(launcher, T0), handle(launcher, T1)
    first.listener.on_event(T0, Failed("boom"))
    first.end()
    herder.restart_task(T0).result(WAIT)
    second = handle(launcher, T0, first)
    second.listener.on_event(T0, Running())
    assert herder.task_status(T0).state == "RUNNING"
    assert not other.gone.is_set()
    assert support.CALLS["c"] == ["start", "task_configs"]
    with pytest.raises(NotFoundError, match="Unknown task: c-2"):
        herder.restart_task(ConnectorTaskId("c", 2)).result(WAIT)


def test_a_connector_restarts_alone_or_with_its_tasks(
    herder: WorkerHerder, launcher: FakeLauncher, source_config: Any
) -> None:
    started(herder, source_config())
    first, other = handle(launcher, T0), handle(launcher, T1)
    other.listener.on_event(T1, Running())
    herder.restart_connector("c", only_failed=False, include_tasks=False).result(WAIT)
    herder.connector_started("c").result(WAIT)
    assert support.CALLS["c"].count("start") == 2
    assert not first.gone.is_set() and not other.gone.is_set()
    first.listener.on_event(T0, Failed("boom"))
    first.end()
    shown = herder.restart_connector("c", only_failed=True, include_tasks=True).result(WAIT)
    assert (shown.connector.state, [task.state for task in shown.tasks]) == ("RUNNING", ["RESTARTING", "RUNNING"])
    second = handle(launcher, T0, first)
    assert support.CALLS["c"].count("start") == 2
    assert not other.gone.is_set()
    herder.restart_connector("c", only_failed=False, include_tasks=True).result(WAIT)
    assert handle(launcher, T0, second) and handle(launcher, T1, other)
    wait_for(lambda: support.CALLS["c"].count("start") == 3, WAIT)


def test_a_patch_changes_what_it_names(herder: WorkerHerder, source_config: Any) -> None:
    put(herder, source_config(tasks="1", header_converter="StringConverter"))
    result = herder.patch_connector_config("c", {"tasks": "2", "header.converter": None, "new": None}).result(WAIT)
    assert result.info.config == source_config(tasks="2")
    with pytest.raises(NotFoundError):
        herder.patch_connector_config("none", {}).result(WAIT)
    with pytest.raises(BadRequestError, match=r"tasks\.max"):
        herder.patch_connector_config("c", {"tasks.max": "0"}).result(WAIT)


def test_topics_in_use(herder: WorkerHerder, launcher: FakeLauncher, source_config: Any) -> None:
    started(herder, source_config())
    handle(launcher, T0).listener.on_event(T0, TopicsUsed(["b", "a"]))
    assert herder.active_topics("c") == ("a", "b")
    herder.reset_active_topics("c")
    assert herder.active_topics("c") == herder.active_topics("none") == ()
    for id in (T0, T1):
        wait_for(lambda id=id: set(handle(launcher, id).calls) == {"forget topics"}, WAIT)


def test_offsets_of_a_stopped_connector_can_be_changed(
    herder: WorkerHerder, launcher: FakeLauncher, source_config: Any
) -> None:
    started(herder, source_config())
    process = handle(launcher, T0)
    process.listener.answer(T0, WriteOffsets({b'["c",{"p":"a"}]': b'{"n":1}', b'["c",{"p":"b"}]': b'{"n":2}'}))
    change = OffsetsChange((ConnectorOffset({"p": "a"}, {"n": 5}), ConnectorOffset({"p": "b"}, None)))
    with pytest.raises(BadRequestError, match="must be STOPPED"):
        herder.change_offsets("c", change).result(WAIT)
    with pytest.raises(NotFoundError):
        herder.change_offsets("none", change).result(WAIT)
    herder.set_target_state("c", TargetState.STOPPED).result(WAIT)
    changed = herder.change_offsets("c", change).result(WAIT)
    assert process.gone.is_set()
    assert len(changed.differences) == 2
    assert herder.connector_offsets("c").result(WAIT) == (ConnectorOffset({"p": "a"}, {"n": 5}),)
    herder.change_offsets("c", OffsetsChange(None)).result(WAIT)
    assert herder.connector_offsets("c").result(WAIT) == ()


def test_removed_with_its_offsets(herder: WorkerHerder, launcher: FakeLauncher, source_config: Any) -> None:
    for with_offsets, left in ((False, 1), (True, 0)):
        started(herder, source_config())
        handle(launcher, T0).listener.answer(T0, WriteOffsets({b'["c",{"p":"a"}]': b'{"n":1}'}))
        deleted = herder.delete_connector("c", with_offsets=with_offsets)
        started(herder, source_config())  # must not see what is to be gone
        assert len(herder.connector_offsets("c").result(WAIT)) == left
        deleted.result(WAIT)
        herder.delete_connector("c").result(WAIT)


def test_offsets_go_to_the_file_and_come_from_it(
    herder: WorkerHerder,
    launcher: FakeLauncher,
    source_config: Any,
    standalone_props: dict[str, str],
) -> None:
    started(herder, source_config())
    listener = handle(launcher, T0).listener
    assert listener.answer(T0, ConfirmStart())
    assert listener.answer(T0, ReadOffsets([{"file": "a"}])) == [None]
    listener.answer(T0, WriteOffsets({b'["c",{"file":"a"}]': b'{"position":7}'}))
    assert listener.answer(T0, ReadOffsets([{"file": "a"}])) == [{"position": 7}]
    expected = (ConnectorOffset({"file": "a"}, {"position": 7}),)
    assert herder.connector_offsets("c").result(WAIT) == expected
    herder.delete_connector("c").result(WAIT)
    written = json.loads(Path(standalone_props["offset.storage.file.filename"]).read_bytes())
    assert written["offsets"] == [{"connector": "c", "partition": {"file": "a"}, "offset": {"position": 7}}]


def test_a_slow_disk_is_reported_to_the_task(
    herder: WorkerHerder, launcher: FakeLauncher, source_config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    started(herder, source_config())
    listener, go = handle(launcher, T0).listener, threading.Event()
    monkeypatch.setattr(offsets_file, "replace_file", lambda path, data: go.wait(WAIT))
    with pytest.raises(
        RetriableError, match=r"offset\.flush\.timeout\.ms = 200: waiting for the disk of .*offsets.json"
    ):
        listener.answer(T0, WriteOffsets({b'["c",{"p":"a"}]': b'{"n":1}'}))
    go.set()


def test_stopped_for_good_it_takes_no_requests(
    herder: WorkerHerder, launcher: FakeLauncher, source_config: Any
) -> None:
    started(herder, source_config())
    process = handle(launcher, T0)
    herder.stop(WAIT)
    assert process.gone.is_set()
    assert launcher.stopped_with is not None
    with pytest.raises(ConnectError, match="The worker is stopping"):
        put(herder, source_config("d"))
    with pytest.raises(ConnectError, match="The worker is stopping"):
        herder.delete_connector("c").result(WAIT)


def test_a_bad_worker_property_leaves_the_file_to_others(
    standalone_props: dict[str, str], launcher: FakeLauncher
) -> None:
    with pytest.raises(ConfigError):
        herder_of(standalone_props | {"connector.client.config.override.policy": "NoSuchPolicy"}, launcher)
    herder = herder_of(standalone_props, launcher)
    with pytest.raises(ConfigError, match="another worker uses it"):
        herder_of(standalone_props, launcher)
    herder.stop(1)
    herder_of(standalone_props, launcher).stop(1)


def herder_of(props: dict[str, str], launcher: FakeLauncher) -> WorkerHerder:
    return standalone_herder(StandaloneConfig(props), Plugins(), launcher, "http://here:8083")


def test_health_figures_and_levels(herder: WorkerHerder) -> None:
    wait_for(herder.has_started, 5, "the cluster's id")
    assert herder.health_check().result(WAIT) is None
    assert herder.figures().connectors == {} and herder.figures().group is None
    herder.put_logger_level("headrace.of.a.test", "DEBUG").result(WAIT)
    assert logging.getLogger("headrace.of.a.test").level == logging.DEBUG
