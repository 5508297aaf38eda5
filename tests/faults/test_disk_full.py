# SPDX-License-Identifier: Apache-2.0
"""Disks that are full to the last byte under a worker, one after the other, and then free again.

Each path that a worker writes to is a small file system in memory. Meanwhile an exactly-once source and two sinks work.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.jvm.user_cache import cache_directory
from headrace.rest.access.audit_log import broken_lines
from headrace.standalone import offsets_file
from headrace.storage.offset_codec import encode_key
from tests.support.exactly_once import assert_exactly_once, create_numbered
from tests.support.polling import wait_for
from tests.support.sinks import committed, create_sink, lines, make_topic, send
from tests.support.small_disk import SmallDisk, small_disk
from tests.support.spark_sinks import ORIGIN, create_spark_sink, parquet_rows, wait_for_rows
from tests.support.topics import read_committed, wait_for_values
from tests.support.worker_process import WorkerProcess

RECORDS = 3_000
HEALTHY = "Worker has completed startup and is ready to handle requests."


@dataclass(frozen=True)
class Worker:
    process: WorkerProcess
    disks: dict[str, SmallDisk]
    bootstrap: str

    @property
    def audit(self) -> Path:
        return self.disks["audit"].path / "audit.jsonl"


@pytest.fixture(scope="module")
def on_small_disks(broker: EmbeddedBroker) -> Iterator[Worker]:
    with ExitStack() as stack:
        # Java's temporary files are with the worker's only where names of sockets do not get too long.
        base = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hr-")))
        names = ("temporary", "spark", "home", "audit", "log", "output")
        disks = {name: stack.enter_context(small_disk(base / name)) for name in names}
        process = WorkerProcess(
            disks["log"].path,
            broker.bootstrap_servers,
            **{
                "group.id": "disk-full",
                "spark.local.dir": str(disks["spark"].path),
                "rest.audit.file": str(disks["audit"].path / "audit.jsonl"),
                "rest.audit.chain": "true",
            },
        )
        process.environment = {
            "TMPDIR": str(disks["temporary"].path),
            "HOME": str(disks["home"].path),
            "HEADRACE_CACHE_DIR": str(cache_directory()),
        }
        stack.callback(process.close)
        process.start()
        wait_for(lambda: "is up, UI at" in process.log, 60, lambda: process.log[-2000:])
        assert list(disks["temporary"].path.glob("headrace-*/tmp")), "where codecs unpack their native code"
        yield Worker(process, disks, broker.bootstrap_servers)


@pytest.fixture
def standalone(broker: EmbeddedBroker, tmp_path: Path, unique: str) -> Iterator[WorkerProcess]:
    worker = WorkerProcess(tmp_path, broker.bootstrap_servers)
    for name in [name for name in worker.properties if ".storage." in name or name.startswith(("group", "exactly"))]:
        del worker.properties[name]
    worker.properties |= {"offset.storage.file.filename": str(tmp_path / "disk" / "offsets")}
    worker.properties["offset.flush.interval.ms"] = "200"
    config = {"connector.class": "FileStreamSource", "file": str(tmp_path / "lines.txt"), "topic": unique}
    (tmp_path / "c.json").write_text(json.dumps({"name": unique, "config": config}))
    worker.command = ("standalone", str(tmp_path / "c.json"))
    yield worker
    worker.close()


def test_parquet_files_can_be_written_after_a_full_temporary_directory(
    on_small_disks: Worker, unique: str, tmp_path: Path
) -> None:
    """The first Parquet file of a worker needs native code, which Java unpacks where temporary files are."""
    worker = on_small_disks
    make_topic(worker.bootstrap, unique)
    send(worker.bootstrap, unique, [b"%d" % n for n in range(100)])
    worker.disks["temporary"].fill()
    try:
        create_spark_sink(worker.process, unique, unique, **parquet(tmp_path))
        wait_for_rows(lambda: parquet_rows(tmp_path), 100, worker.process, unique)
    finally:
        worker.disks["temporary"].free()
    worker.process.delete(unique)


@pytest.mark.parametrize("full", ["temporary", "spark", "home", "log", "output", "audit"])
def test_nothing_is_lost_or_doubled(on_small_disks: Worker, unique: str, full: str, tmp_path: Path) -> None:
    worker, disk = on_small_disks, on_small_disks.disks[full]
    output = worker.disks["output"].path
    connectors = [unique, f"{unique}-lines", f"{unique}-parquet"]
    late = f"{unique}-late"
    make_topic(worker.bootstrap, unique)
    create_sink(worker.process, f"{unique}-lines", unique, output / unique)
    create_spark_sink(worker.process, f"{unique}-parquet", unique, **parquet(output / f"{unique}.parquet"))
    for name in connectors[1:]:
        worker.process.wait_for_tasks(name)
    pauses = {"pause.ms": "20", "batch": "10", "hurry": str(tmp_path / "hurry")}
    create_numbered(worker.process, unique, RECORDS, **pauses)
    seen = len(wait_for_values(worker.bootstrap, unique, 100))
    disk.fill()
    try:
        # The source goes on, whatever is full, and the worker says how it is.
        wait_for_values(worker.bootstrap, unique, min(seen + 300, RECORDS))
        assert_reported(worker, full, unique)
        if full != "audit":  # no request is served
            create_numbered(worker.process, late, 50)
    finally:
        disk.free()
    (tmp_path / "hurry").touch()
    wait_for(lambda: HEALTHY in health(worker.process)[1], 30, lambda: f"{health(worker.process)}")
    if full == "audit":
        create_numbered(worker.process, late, 50)
    for name in (*connectors, late):
        worker.process.wait_for_tasks(name)
    assert_exactly_once(worker.bootstrap, unique, RECORDS, "disk-full-offsets", unique)
    assert_exactly_once(worker.bootstrap, late, 50, "disk-full-offsets", late)
    wait_for(lambda: len(lines(output / unique)) >= RECORDS, 60, lambda: worker.process.log[-3000:])
    assert lines(output / unique) == [str(n) for n in range(RECORDS)]
    found = wait_for_rows(lambda: parquet_rows(output / f"{unique}.parquet"), RECORDS, worker.process, unique)
    assert sorted(int(row["value"]) for row in found) == list(range(RECORDS))
    for name in (*connectors, late):
        worker.process.delete(name)
    assert broken_lines(str(worker.audit)) == []


def assert_reported(worker: Worker, full: str, name: str) -> None:
    if full == "audit":
        wait_for(lambda: health(worker.process)[0] == 500, 30, "the first line that does not fit")
    status, message = health(worker.process)
    if full == "audit":
        assert status == 500
        assert f"rest.audit.file={worker.audit} cannot be written to: No space left on device" in message
        assert worker.process.rest.delete(f"/connectors/{name}").status_code == 500, "what is not on record is not done"
        return
    assert (status, HEALTHY in message) == (200, True)
    assert worker.process.launched.poll() is None
    if full == "output":
        file = worker.disks["output"].path / name
        expected = f"file '{file}' could not be written to: No space left on device"
        wait_for(lambda: expected in worker.process.log, 30, lambda: worker.process.log[-3000:])
        offset = committed(worker.bootstrap, f"connect-{name}-lines", name).get(0, 0)
        records = read_committed(worker.bootstrap, name)
        assert sum(record.offset < offset for record in records) <= len(lines(file)) < len(records), "invariant 9"


def test_an_offsets_file_stays_whole(standalone: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    bootstrap, file = broker.bootstrap_servers, Path(standalone.properties["offset.storage.file.filename"])
    source = file.parents[1] / "lines.txt"
    source.write_text("0\n")
    make_topic(bootstrap, unique)

    def position() -> int | None:
        stored = offsets_file.parse(file.read_bytes()) if file.exists() else {}
        value = stored.get(encode_key(unique, {"filename": str(source)}))
        return json.loads(value)["position"] if value else None

    with small_disk(file.parent, 1) as disk:
        standalone.start()
        wait_for(lambda: position() == 2, 90, lambda: standalone.log[-3000:])
        disk.fill()
        before = file.read_bytes()
        with source.open("a") as appended:
            appended.write("1\n2\n")
        assert wait_for_values(bootstrap, unique, 3) == [b"0", b"1", b"2"]
        expected = f"offset.storage.file.filename={file} cannot be written: No space left on device; free space there"
        wait_for(
            lambda: expected in health(standalone)[1], 20, lambda: f"{health(standalone)}\n{standalone.log[-2000:]}"
        )
        assert health(standalone)[0] == 200, "records go on"
        assert file.read_bytes() == before
        disk.free()
        wait_for(lambda: position() == 6, 20, lambda: standalone.log[-3000:])
        wait_for(lambda: health(standalone) == (200, HEALTHY), 20, lambda: f"{health(standalone)}")
        # Full again, and it ends: whole, and at least once.
        disk.fill()
        with source.open("a") as appended:
            appended.write("3\n")
        wait_for_values(bootstrap, unique, 4)
        assert standalone.stop() == 0
        assert position() == 6
        disk.free()
        standalone.start()
        assert wait_for_values(bootstrap, unique, 5, 90) == [b"0", b"1", b"2", b"3", b"3"]
        wait_for(lambda: position() == 8, 20, lambda: standalone.log[-3000:])
        assert standalone.stop() == 0


def test_a_worker_whose_log_is_on_a_full_disk_starts_and_ends(
    broker: EmbeddedBroker, tmp_path: Path, unique: str
) -> None:
    with small_disk(tmp_path, 1) as disk:
        worker = WorkerProcess(tmp_path, broker.bootstrap_servers, **{"group.id": f"group-{unique}"})
        try:
            worker.properties_file.write_text(" " * (2 * os.sysconf("SC_PAGESIZE")))  # which it is to find room for
            disk.fill()
            worker.start()
            wait_for(lambda: health(worker)[0] == 200, 90, lambda: f"{health(worker)} {worker.launched.poll()}")
            assert worker.stop() == 0
        finally:
            worker.close()


def parquet(path: Path) -> dict[str, str]:
    return {"spark.format": "parquet", "path": str(path), "include.columns": ORIGIN, "max.retries": "-1"}


def health(worker: WorkerProcess) -> tuple[int, str]:
    answer = worker.rest.get("/health")
    return answer.status_code, answer.json()["message"]
