# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from headrace.api.errors import RetriableError
from headrace.inspection.sandbox import (
    Sandbox,
    SandboxBusyError,
    SandboxCancelledError,
    SandboxClosedError,
    SandboxError,
    SandboxStartError,
    SandboxTimeoutError,
)
from tests.support.polling import wait_for
from tests.support.processes import alive

JOBS = {
    name: f"sandbox_jobs:{name}"
    for name in (
        *("echo", "hang", "leave_a_child", "die", "leave", "kill_the_guard"),
        *("write_garbage", "fill", "mistake", "defect"),
    )
}
ENOUGH = 120.0


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    before = psutil.Process().children()
    yield Sandbox(at_most=2, max_items_bytes=300_000, jobs=JOBS)
    assert [each for each in psutil.Process().children() if each not in before] == [], "a sandbox has left a process"


def assert_gone(pids: list[int]) -> None:
    alive = [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE]
    assert not alive


def test_a_job_returns_its_items_and_nothing_that_it_prints(sandbox: Sandbox) -> None:
    seen: list[Any] = []
    large = "é" + "x" * 100_000  # more than a pipe holds
    items = sandbox.run("echo", {"times": 1, "text": large}, ENOUGH, seen.append)
    assert items == seen == [{"number": 0, "text": large, "stdin": ""}]


@pytest.mark.usefixtures("sandbox")
def test_a_job_that_hangs_is_gone_at_the_deadline_with_all_that_it_started() -> None:
    seen: list[Any] = []
    timed = Sandbox(jobs=JOBS, clock=lambda: 10 * len(seen))
    with pytest.raises(SandboxTimeoutError, match="did not end within 10 seconds") as raised:
        timed.run("hang", {}, 10, seen.append)
    (item,) = raised.value.items
    assert len(item["pids"]) == 5
    assert_gone(item["pids"])


def test_what_a_job_leaves_behind_is_gone(sandbox: Sandbox) -> None:
    (item,) = sandbox.run("leave_a_child", {}, ENOUGH)
    assert_gone(item["pids"])


def test_a_cancelled_job_is_gone(sandbox: Sandbox) -> None:
    seen: list[Any] = []
    with pytest.raises(SandboxCancelledError):
        sandbox.run("hang", {}, ENOUGH, seen.append, cancel=lambda: bool(seen))
    assert_gone(seen[0]["pids"])


def test_a_closed_sandbox_runs_nothing(sandbox: Sandbox) -> None:
    sandbox.close()
    with pytest.raises(SandboxClosedError) as raised:
        sandbox.run("hang", {}, ENOUGH)
    assert isinstance(raised.value, SandboxCancelledError) and isinstance(raised.value, RetriableError)


def test_an_error_of_the_items_function_ends_the_job(sandbox: Sandbox) -> None:
    seen: list[Any] = []

    def refuse(item: dict[str, Any]) -> None:
        seen.append(item)
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        sandbox.run("hang", {}, ENOUGH, refuse)
    assert_gone(seen[0]["pids"])


def test_a_job_that_dies_of_a_signal(sandbox: Sandbox) -> None:
    with pytest.raises(SandboxError, match=r"process was killed by signal 11; it printed: about to die") as raised:
        sandbox.run("die", {}, ENOUGH)
    assert raised.value.items == [{"number": 1}]


def test_a_job_that_exits(sandbox: Sandbox) -> None:
    with pytest.raises(SandboxError, match="process ended with status 7; it printed: good bye"):
        sandbox.run("leave", {}, ENOUGH)
    # the mark lets those who hide secrets find what is left of one
    with pytest.raises(SandboxError, match=r"it printed:  \.\.\. \(\d+ characters left out\) \.\.\. [a-z ]*$"):
        sandbox.run("leave", {"last words": "fare well " * 1000}, ENOUGH)


def test_a_job_that_kills_its_guard_dies_with_it(sandbox: Sandbox) -> None:
    begun = time.monotonic()
    with pytest.raises(SandboxError, match="process ended"):
        sandbox.run("kill_the_guard", {}, ENOUGH)
    assert time.monotonic() - begun < ENOUGH / 2


def test_garbage_is_no_item(sandbox: Sandbox) -> None:
    assert sandbox.run("write_garbage", {}, ENOUGH) == []


def test_items_have_a_limit(sandbox: Sandbox) -> None:
    with pytest.raises(SandboxError, match="returned more than 300,000 bytes") as raised:
        sandbox.run("fill", {}, ENOUGH)
    assert 20 <= len(raised.value.items) <= 30


def test_errors_for_users_and_defects(sandbox: Sandbox) -> None:
    with pytest.raises(SandboxError) as raised:
        sandbox.run("mistake", {}, ENOUGH)
    assert str(raised.value) == "Invalid value 'nowhere' for configuration file: there is none"
    assert raised.value.type == "ConfigError"
    with pytest.raises(SandboxError, match=r"^RuntimeError: oops$"):
        sandbox.run("defect", {}, ENOUGH)


def test_only_a_few_jobs_run_at_a_time(sandbox: Sandbox) -> None:
    running = threading.Semaphore(0)
    stop = threading.Event()

    def run() -> None:
        with pytest.raises(SandboxCancelledError):
            sandbox.run("hang", {}, ENOUGH, lambda item: running.release(), stop.is_set)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert running.acquire(timeout=ENOUGH)
    with pytest.raises(SandboxBusyError, match="2 requests"):
        sandbox.run("echo", {"times": 0, "text": ""}, ENOUGH)
    stop.set()
    for thread in threads:
        thread.join()
    assert sandbox.run("echo", {"times": 0, "text": ""}, ENOUGH) == []


@pytest.mark.parametrize("spare", range(10))
def test_a_machine_that_starts_no_process(sandbox: Sandbox, spare: int) -> None:
    """With too few open files it fails at one of the pipes; nothing is left, and the next job runs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 20, hard))
    try:
        with suppress(OSError):
            while True:
                files.append(os.dup(0))
        for _ in range(spare):
            os.close(files.pop())
        with pytest.raises(SandboxStartError, match=r"The echo runs in a process of its own.*Too many open files"):
            sandbox.run("echo", {"times": 0, "text": ""}, ENOUGH)
    finally:
        for each in files:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert sandbox.run("echo", {"times": 0, "text": ""}, ENOUGH) == []


WORKER = """
import sys
sys.path.insert(0, sys.argv[1])
from headrace.api.errors import RetriableError
from headrace.inspection.sandbox import Sandbox
Sandbox(jobs={"hang": "sandbox_jobs:hang"}).run("hang", {}, 600, lambda item: print(*item["pids"], flush=True))
"""


def test_a_job_ends_with_its_worker() -> None:
    worker = [sys.executable, "-c", WORKER, str(Path(__file__).parent)]
    with subprocess.Popen(worker, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        processes = [psutil.Process(pid) for pid in pids]
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
        wait_for(lambda: not any(map(alive, processes)), 30, lambda: f"the ends of {processes}")
