# SPDX-License-Identifier: Apache-2.0
"""No memory left: for a task, for its process, for Spark's JVM; and all processes of a worker killed at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.exactly_once import assert_exactly_once, create_numbered
from tests.support.polling import wait_for
from tests.support.sinks import lines, wait_for_lines
from tests.support.topics import wait_for_values
from tests.support.worker_process import WorkerProcess

COUNT = 2000
_MB = 1 << 20
_LIMITS = (("memory", "memory.limit_in_bytes"), ("", "memory.max"))
"""Of control groups, version 1 and 2."""


@pytest.fixture
def once(tmp_path: Path) -> Path:
    file = tmp_path / "once"
    file.touch()
    return file


@pytest.fixture
def control_group(unique: str) -> Iterator[Path]:
    """A control group whose processes the kernel kills when they take more memory than it has."""
    for controller, limit in _LIMITS:
        group = Path("/sys/fs/cgroup", controller, f"headrace-{unique}")
        with suppress(OSError):
            group.mkdir()
            try:
                (group / limit).write_text(str(64 * _MB))
                yield group
                return
            finally:
                wait_for(lambda group=group: not (group / "cgroup.procs").read_text(), 10)  # type: ignore[misc]
                group.rmdir()
    pytest.skip("no control group with a limit of memory can be made here")


def test_memory_errors_of_tasks(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, once: Path, tmp_path: Path
) -> None:
    """FAILED with the reason, in `poll` and in `put`; what is left of the memory is enough to say so."""
    hungry = {"connector.class": "hungry.HungrySourceConnector", "eat.once": str(once)}
    create_numbered(worker, unique, COUNT, **hungry)
    _assert_failed_and_restart(worker, unique)
    assert_exactly_once(broker.bootstrap_servers, unique, COUNT, worker.properties["offset.storage.topic"], unique)
    once.touch()
    sink, file = f"{unique}-sink", tmp_path / "lines"
    config = {"connector.class": "hungry.HungrySinkConnector", "topics": unique, "file": str(file)}
    worker.create(sink, **config, **{"tasks.max": "1", "eat.once": str(once)})
    _assert_failed_and_restart(worker, sink)
    wait_for_lines(file, COUNT)
    assert lines(file) == [str(n) for n in range(COUNT)]
    for name in (unique, sink):
        worker.delete(name)


def test_task_that_the_kernel_kills(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, once: Path, control_group: Path
) -> None:
    config = {"connector.class": "hungry.HungrySourceConnector", "eat.once": str(once)}
    create_numbered(worker, unique, COUNT, **config, **{"eat.cgroup": str(control_group)})
    assert_exactly_once(broker.bootstrap_servers, unique, COUNT, worker.properties["offset.storage.topic"], unique)
    assert not once.exists(), "the process never ran out of memory"
    worker.wait_for_tasks(unique)
    assert worker.status(unique)["tasks"][0]["state"] == "RUNNING"
    worker.delete(unique)


def test_sparks_jvm_out_of_memory_and_all_processes_killed(
    own_worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    count = 3 * COUNT
    own_worker.start()
    create_numbered(own_worker, unique, count, **{"pause.ms": "50", "batch": "20", "hurry": str(tmp_path / "hurry")})
    wait_for_values(broker.bootstrap_servers, unique, 200, 90)
    jvm = own_worker.jvm()
    create_numbered(own_worker, f"{unique}-filler", 0, **{"connector.class": "hungry.EngineFillerConnector"})
    wait_for(lambda: not jvm.is_running(), 30, lambda: f"the end of a JVM without memory\n{own_worker.log[-3000:]}")
    own_worker.wait_for_tasks(unique)
    own_worker.delete(f"{unique}-filler")
    for process in (*own_worker.descendants(), psutil.Process(own_worker.pid)):
        with suppress(psutil.NoSuchProcess):
            process.kill()
    own_worker.launched.wait(10)
    (tmp_path / "hurry").touch()
    own_worker.start()
    assert_exactly_once(broker.bootstrap_servers, unique, count, own_worker.properties["offset.storage.topic"], unique)
    own_worker.wait_for_tasks(unique)
    assert own_worker.rest.get("/health").status_code == 200


def _assert_failed_and_restart(worker: WorkerProcess, name: str) -> None:
    worker.wait_for_tasks(name, "FAILED")
    assert worker.status(name)["tasks"][0]["trace"].startswith("MemoryError"), worker.status(name)
    assert worker.rest.post(f"/connectors/{name}/tasks/0/restart").status_code == 204
