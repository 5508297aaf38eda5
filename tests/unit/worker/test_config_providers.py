# SPDX-License-Identifier: Apache-2.0
"""What runs has values; what is stored and reported has references; a change of values restarts what runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.api.config_provider import ConfigData, ConfigProvider
from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.config.distributed_config import DistributedConfig
from headrace.model.health import Handling, Stage, TaskError
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState
from headrace.plugins.discovery import Plugins
from headrace.task.errors.task_errors import task_error
from headrace.task.task_protocol import ErrorMet, Failed, Running
from headrace.worker.worker import Worker
from tests.support.polling import wait_for
from tests.unit.worker import support_connectors as support

WAIT = 5
TASK = ConnectorTaskId("c", 0)
SECRET = "correct-horse"


class Timers:
    """Collects what is to happen later; `fire` makes it happen, on the caller's thread."""

    def __init__(self) -> None:
        self.works: list[Callable[[], None]] = []

    def after(self, seconds: float, work: Callable[[], None]) -> Callable[[], None]:
        assert seconds == 0.5
        self.works.append(work)
        return lambda: self.works.remove(work) if work in self.works else None

    def fire(self) -> None:
        works, self.works = self.works, []
        for work in works:
            work()


@pytest.fixture(autouse=True)
def fresh() -> None:
    support.CALLS.clear()
    support.INSTANCES.clear()
    support.GATES.clear()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "secrets.properties"
    path.write_text(f"password={SECRET}\ncount=2\n")
    return path


@pytest.fixture
def timers() -> Timers:
    return Timers()


@pytest.fixture
def worker(
    worker_props: dict[str, str], launcher: Any, offsets: Any, status: Any, file: Path, timers: Timers
) -> Iterator[Worker]:
    providers = {
        "config.providers": "file",
        "config.providers.file.class": "file",
        "config.providers.file.param.allowed.paths": str(file.parent),
        "config.providers.file.param.ttl.ms": "500",
    }
    config = DistributedConfig(worker_props | providers)
    worker = Worker(config, Plugins(), launcher, offsets, status, time.monotonic, timers.after)
    yield worker
    worker.stop(2)


@pytest.fixture
def config(source_config: Any, file: Path) -> dict[str, str]:
    made: dict[str, str] = source_config()
    return made | {"password": f"${{file:{file}:password}}", "tasks.max": f"${{file:{file}:count}}"}


def start(worker: Worker, config: Any, callbacks: Any) -> None:
    worker.start_connector("c", config, TargetState.STARTED, callbacks).result(WAIT)


def start_task(worker: Worker, config: Any, callbacks: Any) -> None:
    task = {"task.class": f"{support.__name__}.ObedientTask", "secret": config["password"]}
    worker.start_task(TASK, config, task, TargetState.STARTED, callbacks)


def await_that(holds: Callable[[], bool]) -> None:
    wait_for(holds, WAIT)


def test_a_connector_has_values_and_stores_references(
    worker: Worker, callbacks: Any, config: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(support.ObedientSource, "task_configs", lambda self, tasks: [dict(self.props)] * tasks)
    start(worker, config, callbacks)
    assert support.INSTANCES["c"].props["password"] == SECRET
    made = worker.connector_task_configs("c").result(WAIT)
    assert len(made) == 2
    assert made[0]["password"] == config["password"]
    assert made[0]["tasks.max"] == config["tasks.max"]


def test_a_tasks_spec_has_values(worker: Worker, launcher: Any, callbacks: Any, config: dict[str, str]) -> None:
    start_task(worker, config | {"producer.override.client.id": "${file:none}" + config["password"]}, callbacks)
    spec = launcher.launched(TASK).spec
    assert (spec.connector_config["password"], spec.task_config["secret"]) == (SECRET, SECRET)
    assert spec.producer["client.id"] == "${file:none}" + SECRET
    assert not any(name.startswith("config.providers") for name in spec.worker_config)


def test_a_connector_without_its_file_fails(
    worker: Worker, status: Any, callbacks: Any, config: dict[str, str], file: Path
) -> None:
    file.unlink()
    started = worker.start_connector("c", config, TargetState.STARTED, callbacks)
    assert isinstance(started.exception(WAIT), ConfigError)
    reported = status.await_event("failure", "c")
    assert "for configuration tasks.max: config provider file: Properties file" in reported
    assert "\n" not in reported


def test_failures_do_not_show_values(worker: Worker, status: Any, callbacks: Any, config: dict[str, str]) -> None:
    config |= {"file": config["password"]}
    bad = config | {"producer.override.sasl.oauthbearer.token.endpoint.url": config["password"]}
    start_task(worker, bad, callbacks)
    assert f"Invalid value '{config['password']}'" in status.await_event("failure", TASK)
    assert SECRET not in str(status.texts)


def test_a_trace_does_not_show_values(
    worker: Worker, status: Any, callbacks: Any, config: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def start_badly(self: Any, props: Any) -> None:
        raise ValueError(f"no login with {props['password']}")

    monkeypatch.setattr(support.ObedientSource, "start", start_badly)
    with pytest.raises(ConnectError) as error:
        start(worker, config, callbacks)
    trace = status.await_event("failure", "c")
    assert "Traceback" in trace
    for text in (trace, str(error.value)):
        assert f"no login with {config['password']}" in text
        assert SECRET not in text


def test_what_a_task_reports_does_not_show_values(
    worker: Worker, launcher: Any, status: Any, callbacks: Any, config: dict[str, str]
) -> None:
    start_task(worker, config, callbacks)
    launcher.launched(TASK).listener.on_event(TASK, Failed(f"Traceback: bad password {SECRET}"))
    assert status.await_event("failure", TASK) == f"Traceback: bad password {config['password']}"


def test_an_error_that_a_task_meets_does_not_show_values(
    worker: Worker, launcher: Any, callbacks: Any, config: dict[str, str]
) -> None:
    start_task(worker, config, callbacks)
    listener = launcher.launched(TASK).listener
    position = {"source_partition": {"url": f"db?{SECRET}", SECRET: 7}, "source_offset": None}
    error = TaskError("E", f"bad {SECRET}", Stage.POLLING, Handling.RETRIED, 0, position, SECRET)
    listener.on_event(TASK, ErrorMet(error))
    last_error = listener.record.last_error
    hidden = config["password"]
    assert last_error.position == {"source_partition": {"url": f"db?{hidden}", hidden: 7}, "source_offset": None}
    assert (last_error.message, last_error.hint) == (
        f"bad {config['password']}",
        config["password"],
    )


@pytest.mark.parametrize("before", [995, 1000, 20_000], ids=["its start is left", "nothing", "its end"])
def test_an_error_that_was_cut_inside_a_value_does_not_show_what_is_left_of_it(
    worker: Worker, launcher: Any, callbacks: Any, config: dict[str, str], before: int
) -> None:
    start_task(worker, config, callbacks)
    listener = launcher.launched(TASK).listener
    after = 20_000 if before < 20_000 else 995
    error = task_error(ValueError("x" * before + SECRET + "y" * after), Stage.POLLING, Handling.RETRIED)
    listener.on_event(TASK, ErrorMet(error))
    shown = listener.record.last_error.message
    assert "characters left out" in shown
    assert not any(SECRET[at : at + 4] in shown for at in range(len(SECRET) - 3))


def test_new_values_restart_the_connector(
    worker: Worker, status: Any, callbacks: Any, config: dict[str, str], file: Path, timers: Timers
) -> None:
    start(worker, config, callbacks)
    first = support.INSTANCES["c"]
    timers.fire()
    assert support.INSTANCES["c"] is first
    file.write_text("password=new-secret\ncount=2\n")
    timers.fire()
    status.await_event("running", "c")
    await_that(lambda: callbacks.reconfigured == ["c"])
    assert support.INSTANCES["c"] is not first
    assert support.INSTANCES["c"].props["password"] == "new-secret"
    assert support.CALLS["c"] == ["start", "stop", "start"]
    assert len(timers.works) == 1
    worker.stop_connector("c").result(WAIT)
    assert not timers.works


def test_a_paused_connector_takes_new_values_when_it_is_resumed(
    worker: Worker, callbacks: Any, config: dict[str, str], file: Path, timers: Timers
) -> None:
    start(worker, config, callbacks)
    worker.set_connector_target_state("c", TargetState.PAUSED).result(WAIT)
    assert not timers.works
    file.write_text("password=new-secret\ncount=2\n")
    worker.set_connector_target_state("c", TargetState.STARTED).result(WAIT)
    assert support.INSTANCES["c"].props["password"] == "new-secret"


def test_none_restarts_nothing(worker: Worker, callbacks: Any, config: dict[str, str], timers: Timers) -> None:
    start(worker, config | {"config.action.reload": "none"}, callbacks)
    assert not timers.works


def launched_and_running(worker: Worker, launcher: Any, callbacks: Any, config: dict[str, str], timers: Timers) -> Any:
    start_task(worker, config, callbacks)
    handle = launcher.launched(TASK)
    handle.listener.on_event(TASK, Running())
    await_that(lambda: len(timers.works) == 1)
    return handle


def test_new_values_restart_the_task(
    worker: Worker, launcher: Any, status: Any, callbacks: Any, config: dict[str, str], file: Path, timers: Timers
) -> None:
    first = launched_and_running(worker, launcher, callbacks, config, timers)
    file.write_text("password=new-secret\ncount=2\n")
    timers.fire()
    await_that(lambda: launcher.handles[TASK] is not first)
    second = launcher.handles[TASK]
    assert first.calls == ["stop"]
    assert second.spec.task_config["secret"] == "new-secret"
    second.listener.on_event(TASK, Running())
    assert status.of(TASK) == ["startup", "restart", "running"]
    worker.stop_tasks([TASK]).result(WAIT)
    assert status.of(TASK) == ["startup", "restart", "running", "shutdown"]
    assert not timers.works


def test_a_task_that_does_not_stop_for_its_restart_is_killed(
    worker: Worker, launcher: Any, callbacks: Any, config: dict[str, str], file: Path, timers: Timers
) -> None:
    launcher.stubborn = True
    first = launched_and_running(worker, launcher, callbacks, config, timers)
    file.write_text("password=new-secret\ncount=2\n")
    timers.fire()
    await_that(lambda: launcher.handles[TASK] is not first)
    assert first.calls == ["stop", "kill"]


def test_a_stop_during_the_restart_wins(
    worker: Worker, launcher: Any, status: Any, callbacks: Any, config: dict[str, str], file: Path, timers: Timers
) -> None:
    launcher.stubborn = launcher.immortal = True
    first = launched_and_running(worker, launcher, callbacks, config, timers)
    file.write_text("password=new-secret\ncount=2\n")
    timers.fire()
    await_that(lambda: first.calls == ["stop"])
    stopping = worker.stop_tasks([TASK])
    first.end()
    stopping.result(WAIT)
    await_that(lambda: not worker.blocked())
    assert launcher.handles[TASK] is first
    assert status.of(TASK) == ["startup", "restart", "shutdown"]
    assert not worker.task_ids()


def test_a_restart_that_cannot_be_is_a_failure(
    worker: Worker, launcher: Any, status: Any, callbacks: Any, config: dict[str, str], file: Path, timers: Timers
) -> None:
    first = launched_and_running(worker, launcher, callbacks, config, timers)
    launcher.error = RuntimeError("no Java")
    file.write_text("password=new-secret\ncount=2\n")
    timers.fire()
    assert "no Java" in status.await_event("failure", TASK)
    assert first.gone.is_set()
    assert not timers.works


def test_the_workers_clients_are_asked_for_with_values(
    worker: Worker, offsets: Any, config: dict[str, str], file: Path
) -> None:
    assert worker.connector_offsets("c", config).result(WAIT) == ()
    file.unlink()
    with pytest.raises(ConfigError, match="cannot be read"):
        worker.connector_offsets("c", config).result(WAIT)
    with pytest.raises(ConfigError, match="cannot be read"):
        worker.fence_zombies(config, 1).result(WAIT)


def test_providers_without_limits_are_reported_once(
    worker_props: dict[str, str],
    launcher: Any,
    offsets: Any,
    status: Any,
    file: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    providers = {
        "config.providers": "file,dir,env,own",
        "config.providers.file.class": "FileConfigProvider",
        "config.providers.dir.class": "DirectoryConfigProvider",
        "config.providers.dir.param.allowed.paths": str(file.parent),
        "config.providers.env.class": "EnvVarConfigProvider",
        "config.providers.own.class": f"{__name__}:Own",
    }
    Worker(DistributedConfig(worker_props | providers), Plugins(), launcher, offsets, status).stop(2)
    reported = [record.getMessage() for record in caplog.records if "config provider" in record.getMessage()]
    assert reported == [
        "Whoever creates connectors can have them read all that this worker can read, by config provider file, env. "
        "To limit that, set config.providers.file.param.allowed.paths, config.providers.env.param.allowlist.pattern"
    ]


class Own(ConfigProvider):
    """A user's own, which limits itself or does not."""

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        return ConfigData({})


def test_task_configs_that_are_retried_show_the_reference(
    worker: Worker, callbacks: Any, source_config: Any, file: Path
) -> None:
    config = source_config(password=f"${{file:{file}:password}}", fail_in="task_configs", fail_with="retriable")
    start(worker, config, callbacks)
    with pytest.raises(RetriableError, match=r"^\$\{file:.*:password\}$"):
        worker.connector_task_configs("c").result(WAIT)
