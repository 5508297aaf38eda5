# SPDX-License-Identifier: Apache-2.0
"""Spark that cannot start: the worker says why, tries again, and goes on by itself when the cause is gone."""

from __future__ import annotations

import os
import resource
import shutil
import socket
from pathlib import Path

import psutil
import pytest

from tests.support.polling import wait_for
from tests.support.small_disk import small_disk
from tests.support.worker_process import WorkerProcess

SUSPENDED = "-agentlib:jdwp=transport=dt_socket,server=y,suspend=y,address=127.0.0.1:0"
"""A JVM with this option waits for a debugger before it does anything."""
LONGEST_START = "60000"
"""For causes that end the JVM: should one hang instead, the next attempt comes within the tests' patience."""
FEW_FILES = 96
HEALTHY = "Worker has completed startup and is ready to handle requests."


def test_each_cause_is_reported_and_without_causes_the_worker_works(
    own_worker: WorkerProcess, tmp_path: Path, unique: str
) -> None:
    """A JVM that hangs, one that raises what it must be alive to be asked for, and one that ends itself."""
    options, blocked = tmp_path / "jvm-options", tmp_path / "blocked"
    seconds = start_seconds()
    options.write_text(SUSPENDED)
    blocked.write_text("no directory")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        own_worker.properties |= {
            "engine.start.timeout.ms": f"{seconds}000",
            "spark.driver.extraJavaOptions": f"-XX:VMOptionsFile={options}",
            "spark.local.dir": str(blocked / "local"),
            "spark.driver.port": f"{taken.getsockname()[1]}",
            "spark.port.maxRetries": "0",
        }
        own_worker.start()
        wait_for(lambda: health(own_worker)[0] != "starting", 30, "a worker that is in its group")
        create(own_worker, tmp_path, unique)
        await_trouble(own_worker, f"engine.start.timeout.ms={seconds}000")
        options.write_text("")
        await_trouble(own_worker, "Address already in use")
        await_waiting_task(own_worker, unique, "Address already in use")
    await_trouble(own_worker, "Failed to create any local dir")
    blocked.unlink()
    own_worker.wait_for_tasks(unique)
    assert health(own_worker) == ("healthy", 200, HEALTHY)


def test_a_full_disk(own_worker: WorkerProcess, tmp_path: Path, unique: str) -> None:
    with small_disk(tmp_path / "small") as disk:
        disk.fill(pages=3)
        own_worker.environment["TMPDIR"] = str(disk.path)
        own_worker.properties["engine.start.timeout.ms"] = LONGEST_START
        own_worker.start()
        wait_for(lambda: list(disk.path.glob("headrace-*")), 10, "the worker's directory on the full disk")
        await_trouble(own_worker, "Spark could not be started")
        disk.free()
        wait_for(lambda: health(own_worker)[1] == 200, 60, lambda: f"{health(own_worker)}")
        create(own_worker, tmp_path, unique)
        own_worker.wait_for_tasks(unique)
        own_worker.stop()


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="there is no prlimit here")
def test_too_few_open_files(own_worker: WorkerProcess, tmp_path: Path, unique: str) -> None:
    """Enough for the worker itself. Java takes what the hard limit gives, which could not be raised again here."""
    own_worker.prefix = ("prlimit", f"--nofile={FEW_FILES}:")
    own_worker.properties["engine.start.timeout.ms"] = LONGEST_START
    own_worker.properties["spark.driver.extraJavaOptions"] = "-XX:-MaxFDLimit"
    own_worker.start()
    await_trouble(own_worker, f"this worker may have {FEW_FILES} files open (ulimit -n)")
    assert f"prlimit --pid {own_worker.pid} --nofile=4096:" in health(own_worker)[2]
    _, most = psutil.Process(own_worker.pid).rlimit(resource.RLIMIT_NOFILE)
    psutil.Process(own_worker.pid).rlimit(resource.RLIMIT_NOFILE, (4096, most))
    wait_for(lambda: health(own_worker)[1] == 200, 60, lambda: f"{health(own_worker)}")
    create(own_worker, tmp_path, unique)
    own_worker.wait_for_tasks(unique)


def test_the_loss_of_an_idle_jvm_is_noticed(own_worker: WorkerProcess) -> None:
    own_worker.start()
    wait_for(lambda: "is up, UI at" in own_worker.log, 60, "Spark")
    own_worker.jvm().kill()
    await_trouble(own_worker, "the JVM of Spark died")
    wait_for(lambda: health(own_worker) == ("healthy", 200, HEALTHY), 60, "a JVM in its place")


def start_seconds() -> int:
    """Return what Spark gets to start in: an idle machine needs a third of ten seconds, a busy one as much more."""
    return round(min(60, 10 * (1 + os.getloadavg()[0] / (os.cpu_count() or 1))))


def create(worker: WorkerProcess, directory: Path, name: str) -> None:
    lines = directory / "lines.txt"
    lines.write_text("one\n")
    worker.create(name, **{"connector.class": "FileStreamSource", "file": str(lines), "topic": name})


def health(worker: WorkerProcess) -> tuple[str, int, str]:
    answer = worker.rest.get("/health")
    return answer.json()["status"], answer.status_code, answer.json()["message"]


def await_trouble(worker: WorkerProcess, cause: str) -> None:
    def reported() -> bool:
        status, code, message = health(worker)
        return cause in message and (status, code) == ("unhealthy", 503)

    wait_for(reported, 120, lambda: f"{cause!r} in {health(worker)}\n{worker.log[-3000:]}")


def await_waiting_task(worker: WorkerProcess, name: str, cause: str) -> None:
    def reported() -> bool:
        tasks = worker.status(name).get("tasks", [])
        return bool(tasks) and cause in tasks[0].get("trace", "")

    wait_for(reported, 30, lambda: f"{cause!r} in {worker.status(name)}")
