# SPDX-License-Identifier: Apache-2.0
"""A worker that calls a JVM in another process, over a real pair of sockets, and that process' end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.config.engine_config import DEFAULT_CONSOLE
from headrace.spark.channel.endpoint import Endpoint
from headrace.spark.channel.messages import FrameFault, Log, LogLevels
from headrace.spark.engine.hosted_jvm import HostedJvm
from headrace.spark.engine.jvm import RunningJob
from headrace.spark.engine.jvm_calls import Answer, Call, HostStart, HostUp
from headrace.spark.engine.jvm_host import JvmHost


class Process:
    """A host's process as the worker has it; the test is the host, at ``there``."""

    def __init__(self) -> None:
        self.link, self.there = Pipe()
        self.alive = True
        self.begun: list[bool] = []

    def begin(self, endpoint: Endpoint, shipped: bool) -> None:
        self.begun.append(shipped)

    def last_words(self) -> str | None:
        return "no memory"

    def kill(self) -> None:
        self.alive = False


@pytest.fixture
def process() -> Iterator[Process]:
    made = Process()
    yield made
    made.there.close()


def connected(process: Process, *said: object) -> HostedJvm:
    for message in said or (HostUp(),):
        process.there.send(message)
    made: Any = process
    return HostedJvm(made, {}, Endpoint("", b""))


def test_what_the_host_answers_is_what_the_caller_gets(process: Process) -> None:
    jvm = connected(process)
    got: list[object] = []
    threads = [threading.Thread(target=lambda group=group: got.append(jvm.running(group))) for group in "ab"]
    for thread in threads:
        thread.start()
    for call in [process.there.recv() for _ in threads][::-1]:
        process.there.send(Answer(call.number, RunningJob(call.arguments[0])))
    for thread in threads:
        thread.join(10)
    assert sorted(job.app_id for job in got) == ["a", "b"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("fault", "error"), [(FrameFault.CONFIG, ConfigError), (FrameFault.RETRIABLE, RetriableError)])
def test_the_hosts_errors_are_raised(process: Process, fault: FrameFault, error: type[Exception]) -> None:
    jvm = connected(process)

    def answer() -> None:
        call = process.there.recv()
        process.there.send(Answer(call.number, fault=fault, error="it says so"))

    threading.Thread(target=answer).start()
    with pytest.raises(error, match="it says so"):
        jvm.run_task_job("group", "description")


def test_calls_that_wait_fail_when_the_host_ends(process: Process) -> None:
    jvm = connected(process)
    ending = threading.Timer(0.1, process.there.close)
    ending.start()
    for _ in range(2):
        with pytest.raises(RetriableError, match="the JVM of Spark died"):
            jvm.run_task_job("group", "description")
    ending.join()  # the fixture closes it as well
    assert not jvm.alive()
    jvm.cancel("group")
    jvm.close_frame_session("key")
    jvm.stop()
    assert not process.alive


@pytest.mark.parametrize(("for_good", "error"), [(False, ConnectError), (True, ConfigError)])
def test_a_start_that_fails_says_why(process: Process, for_good: bool, error: type[Exception]) -> None:
    with pytest.raises(error, match="no Java"):
        connected(process, HostUp("no Java", for_good))
    assert not process.alive


def test_the_error_of_a_host_that_ends_at_its_start_is_its_last_output(process: Process) -> None:
    process.there.send(Log("headrace.spark", logging.INFO, "beginning"))
    process.there.close()
    made: Any = process
    with pytest.raises(ConnectError, match="no memory"):
        HostedJvm(made, {}, Endpoint("", b""))


def test_what_the_host_logs_is_in_the_workers_log(process: Process, caplog: pytest.LogCaptureFixture) -> None:
    connected(process, Log("headrace.spark.engine.spark_session", logging.WARNING, "Spark is up"), HostUp())
    assert "Spark is up" in caplog.messages


def test_the_host_gets_changed_log_levels(process: Process) -> None:
    connected(process).send_log_levels({"headrace": 10})
    assert process.there.recv() == LogLevels({"headrace": 10})


def leaving(*_: object) -> None:
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        (lambda group: RunningJob(group), Answer(5, RunningJob("g"))),
        (lambda group: {}[group], Answer(5, fault=FrameFault.DATA, error="KeyError: 'g'")),
        (leaving, Answer(5, fault=FrameFault.DATA, error="SystemExit: 3")),
    ],
)
def test_the_host_answers_each_call(method: Any, answer: Answer) -> None:
    here, there = Pipe()
    link: Connection[Any, Any] = there
    host = JvmHost(link)
    host._jvm = SimpleNamespace(running=method)  # type: ignore[assignment]
    host._answer(Call(5, "running", ("g",)))
    assert here.recv() == answer


def test_the_host_says_why_it_could_not_even_begin(tmp_path: Path) -> None:
    here, there = Pipe()
    link: Connection[Any, Any] = there
    nowhere = tmp_path / "removed"
    start = HostStart({}, nowhere, (), DEFAULT_CONSOLE, Endpoint("", b""), False, (), frozenset(), {})
    JvmHost(link).serve(start)
    up = here.recv()
    assert (up.for_good, "FileNotFoundError" in up.error and str(nowhere) in up.error) == (False, True)
