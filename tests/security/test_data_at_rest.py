# SPDX-License-Identifier: Apache-2.0
"""Records on the disks of a worker's machine: canaries that queries sort, and Spark spills, are looked for in files."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.topics import wait_for_values
from tests.support.worker_process import WorkerProcess

CANARY = b"canary-of-records"
LINES = 2000
SORTED = (
    "SELECT /*+ REPARTITION(2) */ value FROM "
    "(SELECT value, count(*) OVER (PARTITION BY length(value) ORDER BY value) AS n FROM records) ORDER BY n, value"
)
SPILLING = {
    "spark.sql.shuffle.partitions": "2",
    "spark.shuffle.spill.numElementsForceSpillThreshold": "200",
    "spark.sql.windowExec.buffer.in.memory.threshold": "200",
    "spark.sql.windowExec.buffer.spill.threshold": "200",
    # Else a compressed canary would not be found, encrypted or not.
    "spark.shuffle.compress": "false",
    "spark.shuffle.spill.compress": "false",
}


class Watch:
    """Files below some directories in which the canary was seen, while they came and went."""

    def __init__(self, *directories: Path) -> None:
        self._directories = directories
        self._over = threading.Event()
        self.seen: set[str] = set()
        self.read = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self._watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def look(self) -> None:
        for file in (Path(at, name) for top in self._directories for at, _, names in os.walk(top) for name in names):
            with suppress(OSError):
                if file.is_file():
                    content = file.read_bytes()
                    self.read += 1
                    if CANARY in content:
                        self.seen.add(file.name)

    def _watch(self) -> None:
        while not self._over.wait(0.02):
            self.look()


@pytest.mark.parametrize(("encrypted", "umask"), [("true", 0o022), ("false", 0)])
def test_what_spark_spills_is_the_workers_alone_and_encrypted_if_that_is_on(
    broker: EmbeddedBroker, own_tmp: Path, tmp_path: Path, unique: str, encrypted: str, umask: int
) -> None:
    lines, scratch, home = tmp_path / "lines.txt", own_tmp / f"scratch-{encrypted}" / "spark", tmp_path / "worker"
    lines.write_bytes(b"".join(b"%s-%05d\n" % (CANARY, n) for n in reversed(range(LINES))))
    home.mkdir()
    properties = {"group.id": unique, "spark.local.dir": str(scratch), "spark.io.encryption.enabled": encrypted}
    properties |= {"spark.network.crypto.enabled": encrypted, **SPILLING}
    watch = Watch(own_tmp, home)
    worker, former = WorkerProcess(home, broker.bootstrap_servers, **properties), os.umask(umask)
    with closing(worker), watch.running():
        try:
            worker.start()
        finally:
            os.umask(former)
        source = {"connector.class": "FileStreamSource", "file": str(lines), "topic": unique, "tasks.max": "1"}
        step = {"transforms": "q", "transforms.q.type": "SparkSql", "transforms.q.query": SORTED}
        worker.create("spills", **source, **step, **{"transforms.q.value.schema": "STRING"})
        values = wait_for_values(broker.bootstrap_servers, unique, LINES)
        watch.look()
        assert sorted(values) == sorted(lines.read_bytes().splitlines())
        assert reached_by_others(own_tmp) == []
        logs = list(own_tmp.glob("headrace-*/spark*.log"))
        assert {(log.name, log.stat().st_mode & 0o777) for log in logs} == {
            ("spark.log", 0o600),
            ("spark-console.log", 0o600),
        }
    if encrypted == "true":
        assert watch.seen == set()
    else:
        kinds = {name.split("_")[0] for name in watch.seen}
        assert kinds == {"shuffle", "temp"}, "what the other case does not find"
    assert list(scratch.rglob("*")) == [], "it ended in order"


def reached_by_others(top: Path) -> list[str]:
    """What others than its owner can list, read or change; what lies in directories that they cannot enter is none."""
    found = []
    for directory, names, files in os.walk(top):
        modes = {name: Path(directory, name).lstat().st_mode for name in (*names, *files)}
        found += [f"{directory}/{name}: {mode:o}" for name, mode in modes.items() if mode & 0o077]
        names[:] = [name for name in names if modes[name] & 0o077]
    return found
