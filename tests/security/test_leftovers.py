# SPDX-License-Identifier: Apache-2.0
"""A worker is killed while tasks hang in code of their own: nothing of it is left for long."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for, within
from tests.support.processes import command_of, status_of
from tests.support.worker_process import WorkerProcess

CHILD = "signal.signal(signal.SIGHUP, signal.SIG_IGN)"


@pytest.fixture
def killed(broker: EmbeddedBroker, own_tmp: Path, tmp_path: Path, unique: str) -> Iterator[WorkerProcess]:
    own = {"group.id": f"group-{unique}", "spark.local.dir": str(tmp_path / "scratch")}
    process = WorkerProcess(tmp_path, broker.bootstrap_servers, **own)
    try:
        yield process
    finally:
        process.close()


def orphans(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that tasks have started, which hear no SIGHUP and are in no process group of ours."""
    return [each for each in processes if CHILD in command_of(each)]


def hang(worker: WorkerProcess, name: str, *hows: str) -> None:
    """Have one task for each way to hang, all of them hanging."""
    config = {"connector.class": "hanging_source.HangingSource", "tasks.max": "3", "hows": ",".join(hows)}
    worker.create(name, **config)
    worker.wait_for_tasks(name, tasks=len(hows))
    wanted = {psutil.STATUS_RUNNING} | ({psutil.STATUS_STOPPED} if "stopped" in hows else set())

    def hanging() -> bool:
        states = {status_of(process) for process in worker.task_processes()}
        return wanted <= states and bool(orphans(worker.descendants()))

    wait_for(hanging, 30, lambda: str([status_of(process) for process in worker.task_processes()]))


def assert_sockets_in(worker: WorkerProcess, directory: Path) -> None:
    """Those that have a name."""
    for process in worker.descendants():
        for connection in process.net_connections("unix"):
            assert not connection.laddr or str(connection.laddr).startswith(f"{directory}/")


# With one that is stopped Linux itself sends a SIGHUP to all when the daemon has gone.
@pytest.mark.parametrize(
    ("also", "hows"),
    [("", ("interpreter", "children", "stopped")), ("JVM and daemon", ("interpreter", "children"))],
    ids=["worker", "worker, JVM and daemon"],
)
def test_nothing_is_left_of_a_killed_worker(
    killed: WorkerProcess, own_tmp: Path, tmp_path: Path, unique: str, also: str, hows: tuple[str, ...]
) -> None:
    killed.start()
    hang(killed, unique, *hows)
    [directory], [scratch] = own_tmp.glob("headrace-*"), (tmp_path / "scratch").iterdir()
    assert any(scratch.glob("blockmgr-*"))
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert_sockets_in(killed, directory)
    daemon = killed.task_process().parent()
    assert daemon is not None
    others = [killed.jvm(), daemon] if also else []
    killed.kill()
    for process in others:
        process.kill()
    within(30, lambda: killed.leftovers() == orphans(killed.leftovers()), lambda: str(killed.leftovers()))

    killed.start()
    left = [*killed.leftovers(), directory, scratch]
    wait_for(lambda: not (directory.exists() or scratch.exists() or killed.leftovers()), 5, lambda: str(left))
    [own] = own_tmp.glob("headrace-*")
    assert killed.stop() == 0
    assert not own.exists()
    assert list(own_tmp.iterdir()) == list((tmp_path / "scratch").iterdir()) == []
