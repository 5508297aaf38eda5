# SPDX-License-Identifier: Apache-2.0
"""Processes of Java connectors that hang, die and are killed, and workers that are."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import psutil
import pytest

from headrace.api.connector import Connector
from headrace.api.errors import ConnectError
from headrace.config.connector_config import ConnectorConfig
from headrace.java.connector import JavaSourceConnector, source_connector_class
from headrace.java.host import TIMEOUT, HangingCallError, HostEndedError
from headrace.java.shared_hosts import SharedHosts
from headrace.model.state import TargetState
from headrace.plugins.resolved_config import ResolvedConfig
from headrace.worker.callbacks import StatusListener
from headrace.worker.connectors import worker_connector
from headrace.worker.connectors.worker_connector import WorkerConnector
from headrace.worker.stages import Stages
from tests.java.java_connectors import KeptContext, Plugin, odd_source
from tests.support.polling import wait_for
from tests.support.processes import alive, children_of

pytestmark = pytest.mark.integration
EXITED = r"ended with status 3, as OddSource\.act \(OddSource\.java:\d+\) called System\.exit"


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Plugin:
    return odd_source(tmp_path_factory.mktemp("odd"))


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    before = children_of(os.getpid(), recursive=True)
    yield
    wait_for(lambda: not left(before), 10, lambda: f"the ends of {left(before)}")


def left(before: list[psutil.Process]) -> list[psutil.Process]:
    return [each for each in children_of(os.getpid(), recursive=True) if each not in before and alive(each)]


class KeptStatuses:
    """The statuses of a connector, in order."""

    def __init__(self) -> None:
        self.traces: list[str] = []
        self.seen: list[str] = []

    def on_failure(self, id: str, trace: str) -> None:
        self.traces.append(trace)

    def __getattr__(self, name: str) -> Callable[[str], None]:
        return lambda id: self.seen.append(name)


class Factory:
    """A `ConnectorFactory` of one class and configuration."""

    def __init__(self, cls: type[Connector], **props: str) -> None:
        self.cls = cls
        self.props = {"name": "odd", "connector.class": "OddSource", "tasks.max": "1", **props}

    def resolve(self) -> ResolvedConfig:
        return ResolvedConfig(self.props, self.props, {})

    def create_instance(self, config: ConnectorConfig) -> Connector:
        return self.cls()

    def context(self, config: Any, connector: Any, fail: Callable[[BaseException], None], metrics: Any) -> Any:
        context = KeptContext()
        context.raise_error = fail  # type: ignore[method-assign]
        return context

    def task_class_name(self, connector: Connector) -> str:
        return "OddTask"

    def request_task_reconfiguration(self) -> None:
        """Not requested here."""


class Running:
    """A connector as a worker runs it."""

    def __init__(self, plugin: Plugin, **props: str) -> None:
        self.statuses = KeptStatuses()
        stages = Stages(time.monotonic)
        hosts = SharedHosts(idle_s=0.1)  # the version is asked for first
        cls = type("OddSource", (source_connector_class(plugin),), {"hosts": hosts})
        self.connector = WorkerConnector(
            "odd", Factory(cls, **props), cast("StatusListener", self.statuses), stages, lambda s, work: lambda: None
        )

    def start(self) -> None:
        self.connector.set_target_state(TargetState.STARTED).result(60)

    def stop(self) -> None:
        self.connector.close(60).result(60)

    def trace(self) -> str:
        """The trace of its failure."""
        wait_for(lambda: self.statuses.traces, 20)
        (trace,) = self.statuses.traces
        return trace

    @property
    def host(self) -> psutil.Process:
        """The guard of its process."""
        instance = cast("JavaSourceConnector", self.connector._instance)
        assert instance._host is not None
        return psutil.Process(instance._host.pid)


def test_a_method_that_hangs_fails_the_connector_and_ends_its_process(odd: Plugin) -> None:
    running = Running(odd, taskConfigs="hang", **{TIMEOUT: "4000"})
    running.start()
    processes = [running.host, *running.host.children(recursive=True)]
    assert len(processes) == 2
    expected = (
        "OddSource.taskConfigs of connector odd did not return within 4 s, and its process was killed. If it needs "
        "longer, raise java.connector.timeout.ms"
    )
    with pytest.raises(ConnectError, match=f"^Connector odd failed to make task configurations: {expected}$"):
        running.connector.task_configs().result(60)
    assert running.trace().splitlines()[0] == expected
    assert not any(map(alive, processes))
    running.stop()
    again = Running(odd)
    again.start()
    assert again.connector.task_configs().result(60)
    again.stop()


def test_a_start_that_hangs(odd: Plugin) -> None:
    running = Running(odd, start="hang", **{TIMEOUT: "500"})
    with pytest.raises(ConnectError, match=r"OddSource\.start of connector odd did not return within 0\.5 s"):
        running.start()
    running.stop()


def test_a_stop_that_hangs_ends_with_the_process(
    odd: Plugin, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Tests before this one may have configured logging in this process.
    for name, value in {"disabled": False, "handlers": [caplog.handler], "level": logging.WARNING}.items():
        monkeypatch.setattr(worker_connector.log, name, value)
    worker_connector.log.manager._clear_cache()  # type: ignore[attr-defined]
    running = Running(odd, stop="hang", **{TIMEOUT: "4000"})
    running.start()
    running.stop()
    assert "Connector odd failed to stop" in caplog.text
    assert "OddSource.stop of connector odd did not return within 4 s" in caplog.text


def test_a_connector_that_exits(odd: Plugin) -> None:
    running = Running(odd, taskConfigs="exit")
    running.start()
    with pytest.raises(ConnectError, match=rf"(?s)\(OddSource\) {EXITED}; it printed last: .*last line"):
        running.connector.task_configs().result(60)
    running.stop()


def test_a_connector_that_needs_too_much_memory(odd: Plugin) -> None:
    running = Running(odd, taskConfigs="memory")
    running.start()
    with pytest.raises(ConnectError, match=r"(?s)ended with status 3; it printed last: .*java\.lang\.OutOfMemoryError"):
        running.connector.task_configs().result(60)
    running.stop()


@pytest.mark.parametrize("killed", ["the host", "its guard"])
def test_a_process_that_is_killed_fails_the_connector(odd: Plugin, killed: str) -> None:
    running = Running(odd, start="programs")
    running.start()
    guard = running.host
    processes = [guard, *guard.children(recursive=True)]
    (host,) = guard.children()
    assert len(processes) == 4
    (host if killed == "the host" else guard).kill()
    trace = running.trace()
    reason = "was killed by signal 9 (SIGKILL)" if killed == "the host" else "was killed"
    assert trace.startswith(f"The process of connector odd (OddSource) {reason}; it printed last: ")
    assert "started on stderr" in trace
    wait_for(lambda: not any(map(alive, processes[:3])), 10, lambda: f"the ends of {processes}")
    for each in processes[3:]:  # without its guard a program with a session of its own cannot be found
        if alive(each):
            assert killed == "its guard"
            each.kill()
    running.stop()


def sleeping(host: psutil.Process) -> list[psutil.Process]:
    """The programs that the connector has started."""
    return [each for each in host.children(recursive=True) if each.name() == "sleep"]


def test_all_that_a_connector_has_started_ends_with_it(odd: Plugin) -> None:
    running = Running(odd, start="programs")
    running.start()
    # A program has another name until its process executes it.
    wait_for(lambda: len(sleeping(running.host)) == 2, 10, lambda: f"two programs: {sleeping(running.host)}")
    programs = sleeping(running.host)
    running.stop()
    wait_for(lambda: not any(map(alive, programs)), 10, lambda: f"the ends of {programs}")


def test_a_call_beside_one_that_hangs_is_repeated(odd: Plugin) -> None:
    cls = type("OddSource", (source_connector_class(odd),), {"hosts": SharedHosts(idle_s=0.1)})
    with ThreadPoolExecutor(2) as executor:
        hanging = executor.submit(cls().validate, {"name": "a", "validate": "hang", TIMEOUT: "2000"})
        beside = executor.submit(cls().validate, {"name": "b", "validate": "hang", TIMEOUT: "9000"})
        with pytest.raises(HangingCallError, match=r"OddSource\.validate of connector a did not return within 2 s"):
            hanging.result(60)
        with pytest.raises(HangingCallError, match=r"OddSource\.validate of connector b did not return within 9 s"):
            beside.result(60)


def test_a_validation_that_exits(odd: Plugin) -> None:
    cls = type("OddSource", (source_connector_class(odd),), {"hosts": SharedHosts(idle_s=0.1)})
    with pytest.raises(HostEndedError, match=rf"(?s){EXITED}; it printed last: .*last line"):
        cls().validate({"name": "a", "validate": "exit"})


_WORKER = """
import sys, time
from pathlib import Path
from headrace.java.connector import source_connector_class
from tests.java.java_connectors import KeptContext, Plugin
connector = source_connector_class(Plugin("OddSource", (Path(sys.argv[1]),)))()
connector.version()
connector.initialize(KeptContext())
connector.start({"name": "odd", "start": "programs"})
print("started", flush=True)
connector.task_configs(1)
time.sleep(1000)
"""


@pytest.mark.parametrize("frozen", [False, True])
def test_nothing_outlives_a_worker_that_is_killed(odd: Plugin, frozen: bool) -> None:
    worker = subprocess.Popen([sys.executable, "-c", _WORKER, str(odd.jars[0])], stdout=subprocess.PIPE)
    try:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"started\n"
        processes = children_of(worker.pid, recursive=True)
        assert len(processes) == 6  # two hosts with guards, two programs
        if frozen:
            for each in processes:
                if each.ppid() != worker.pid:
                    each.send_signal(signal.SIGSTOP)
    finally:
        worker.kill()
        worker.wait()
    wait_for(lambda: not any(map(alive, processes)), 10, lambda: f"the ends of {processes}")


def test_stop_signals_of_a_service_do_not_end_a_connector(odd: Plugin) -> None:
    running = Running(odd)
    running.start()
    processes = [running.host, *running.host.children(recursive=True)]
    for each in processes:
        for number in (signal.SIGTERM, signal.SIGINT):
            each.send_signal(number)
    assert running.connector.task_configs().result(60)
    assert all(map(alive, processes))
    running.stop()
    assert not running.statuses.traces
