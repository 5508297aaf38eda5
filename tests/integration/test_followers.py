# SPDX-License-Identifier: Apache-2.0
"""Commands that follow something go on after a restart of their worker, and end when there is no more to follow."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.cli.ctl.ctl_error import ExitCode
from tests.support.polling import wait_for
from tests.support.sinks import create_sink, make_topic, send
from tests.support.worker_process import WorkerProcess

AWAY, BACK = "it is asked again until it answers", "The worker answers again"
BAD_RECORDS = {"errors.tolerance": "all", "errors.log.enable": "true", "value.converter": "JsonConverter"}


class Command:
    """A command that runs beside the test, and what it has printed so far."""

    def __init__(self, worker: WorkerProcess, directory: Path, *args: str) -> None:
        self._out, self._err = directory / f"{args[0]}.out", directory / f"{args[0]}.err"
        command = [sys.executable, "-m", "headrace", *args, "--url", str(worker.rest.base_url)]
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(command, stdout=out, stderr=err)

    @property
    def out(self) -> str:
        return self._out.read_text()

    @property
    def err(self) -> str:
        return self._err.read_text()

    def wait_for(self, text: str, times: int = 1, *, err: bool = False) -> None:
        def printed() -> bool:
            return (self.err if err else self.out).count(text) >= times

        wait_for(printed, 60, lambda: f"{text!r} in {self.out}\n{self.err}")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_a_worker_that_is_restarted(
    own_worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path, stack: ExitStack
) -> None:
    def run(*args: str) -> Command:
        command = Command(own_worker, tmp_path, *args)
        stack.callback(command.close)
        return command

    bootstrap = broker.bootstrap_servers
    make_topic(bootstrap, unique)
    own_worker.start(path="/connectors")
    create_sink(own_worker, unique, unique, tmp_path / "out.txt", **BAD_RECORDS)
    own_worker.wait_for_tasks(unique)
    tail = run("topics", "tail", unique, "-f")
    logs = run("logs", "-f", unique, "--level", "error")
    watch = run("connectors", "watch", unique, "--interval", "0.5", "--no-answer-timeout", "600")
    send(bootstrap, unique, [b"no json before"])
    tail.wait_for("no json before")
    logs.wait_for("ERROR")
    watch.wait_for("RUNNING")
    followers = (tail, logs, watch)

    for times, end in enumerate((own_worker.kill, own_worker.stop), 1):
        end()
        for each in followers:
            each.wait_for(AWAY, times, err=True)
        send(bootstrap, unique, [b"no json meanwhile %d" % times])
        own_worker.start(path="/connectors")
        own_worker.wait_for_tasks(unique)
        for each in followers:
            each.wait_for(BACK, times, err=True)
        send(bootstrap, unique, [b"no json after %d" % times])
        tail.wait_for(f"no json after {times}")
        logs.wait_for(" ERROR ", times + 1)
        for each in followers:  # one message for each time without an answer, and not one for each request
            assert each.process.poll() is None and each.err.count(AWAY) in (times, times + 1), each.err
    found = re.findall("no json (.*)", tail.out)
    assert found == ["before", "meanwhile 1", "after 1", "meanwhile 2", "after 2"], tail.out

    # What is gone does not come back.
    own_worker.delete(unique)
    for each in (tail, logs):
        assert each.process.wait(60) == ExitCode.NOT_FOUND, each.err
    watch.wait_for("deleted")
    assert watch.process.poll() is None


def test_a_worker_that_stays_away(own_worker: WorkerProcess, unique: str, tmp_path: Path, stack: ExitStack) -> None:
    own_worker.start(path="/connectors")
    watch = Command(own_worker, tmp_path, "connectors", "watch", "--no-answer-timeout", "3", "-o", "json")
    stack.callback(watch.close)
    own_worker.create(unique, **{"connector.class": "VerifiableSource", "topic": unique, "throughput": "1"})
    watch.wait_for("RUNNING")
    own_worker.kill()
    assert watch.process.wait(60) == ExitCode.NO_ANSWER
    assert watch.err.count(AWAY) == 1 and "Error: No answer for " in watch.err
