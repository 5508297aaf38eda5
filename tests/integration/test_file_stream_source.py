# SPDX-License-Identifier: Apache-2.0
"""A real file through a real worker into a real topic."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.topics import committed_offsets, read_committed, values, wait_for_values
from tests.support.worker_process import WorkerProcess


def test_every_line_once_then_appends_and_truncation(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    file = tmp_path / "lines.txt"
    lines = [f"line {n} with ümläuts".encode() for n in range(5000)]
    file.write_bytes(b"\n".join(lines) + b"\n")
    _create(worker, unique, file)
    assert wait_for_values(broker.bootstrap_servers, unique, 5000) == lines
    with file.open("ab") as appending:
        appending.write(b"one more\nand a part of")
    assert wait_for_values(broker.bootstrap_servers, unique, 5001)[5000:] == [b"one more"]
    with file.open("ab") as appending:
        appending.write(b" a line\n")
    assert wait_for_values(broker.bootstrap_servers, unique, 5002)[5001:] == [b"and a part of a line"]
    offsets = committed_offsets(broker.bootstrap_servers, worker.properties["offset.storage.topic"], unique)
    assert offsets == {json.dumps({"filename": str(file)}): {"position": file.stat().st_size}}
    file.write_bytes(b"shorter\n")
    assert wait_for_values(broker.bootstrap_servers, unique, 5003)[5002:] == [b"shorter"]
    worker.delete(unique)


def test_offsets_survive_delete_and_creation(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("1\n2\n")
    _create(worker, unique, file)
    wait_for_values(broker.bootstrap_servers, unique, 2)
    answer = worker.rest.get(f"/connectors/{unique}/offsets").json()
    assert answer == {"offsets": [{"partition": {"filename": str(file)}, "offset": {"position": 4}}]}
    worker.delete(unique)
    wait_for(lambda: worker.rest.get(f"/connectors/{unique}/status").status_code == 404, 30, "the connector's end")
    file.write_text("1\n2\n3\n")
    _create(worker, unique, file)
    assert wait_for_values(broker.bootstrap_servers, unique, 3) == [b"1", b"2", b"3"]
    worker.delete(unique)


def test_paused_it_reads_nothing_resumed_it_goes_on(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("before\n")
    _create(worker, unique, file)
    wait_for_values(broker.bootstrap_servers, unique, 1)
    assert worker.rest.put(f"/connectors/{unique}/pause").status_code == 202
    worker.wait_for_tasks(unique, "PAUSED")
    wait_for(lambda: worker.status(unique)["connector"]["state"] == "PAUSED", 10, "the connector PAUSED")
    with file.open("a") as appending:
        appending.write("meanwhile\n")
    # Another connector's record is proof that time has passed for this one too.
    other = tmp_path / "other.txt"
    other.write_text("x\n")
    _create(worker, f"{unique}-other", other)
    wait_for_values(broker.bootstrap_servers, f"{unique}-other", 1)
    assert values(broker.bootstrap_servers, unique) == [b"before"]
    assert worker.rest.put(f"/connectors/{unique}/resume").status_code == 202
    assert wait_for_values(broker.bootstrap_servers, unique, 2) == [b"before", b"meanwhile"]
    worker.wait_for_tasks(unique, "RUNNING")
    worker.delete(f"{unique}-other")
    worker.delete(unique)


def test_a_missing_file_is_waited_for(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    file = tmp_path / "not there yet.txt"
    _create(worker, unique, file)
    worker.wait_for_tasks(unique)
    wait_for(lambda: "not there yet.txt" in worker.log, 10, "a line about the file in the log")
    file.write_text("here\n")
    assert wait_for_values(broker.bootstrap_servers, unique, 1) == [b"here"]
    worker.delete(unique)


def test_a_named_pipe(worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    """Writers in succession, and none of a pause, a restart or an end has to wait for one."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    _create(worker, unique, pipe)
    write(pipe, b"1\n2")
    write(pipe, b" and more\n3\n")
    assert wait_for_values(broker.bootstrap_servers, unique, 3) == [b"1", b"2 and more", b"3"]
    assert worker.rest.put(f"/connectors/{unique}/pause").status_code == 202
    worker.wait_for_tasks(unique, "PAUSED")
    write(pipe, b"4\n")
    assert worker.rest.put(f"/connectors/{unique}/resume").status_code == 202
    assert wait_for_values(broker.bootstrap_servers, unique, 4)[3:] == [b"4"]
    before = worker.task_process().pid
    assert worker.rest.post(f"/connectors/{unique}/tasks/0/restart").status_code == 204
    wait_for(lambda: worker.task_process().pid != before, 30, "another process")
    worker.wait_for_tasks(unique)
    write(pipe, b"5\n")
    assert wait_for_values(broker.bootstrap_servers, unique, 5)[4:] == [b"5"], "nothing is skipped"
    offsets = committed_offsets(broker.bootstrap_servers, worker.properties["offset.storage.topic"], unique)
    assert offsets == {json.dumps({"filename": str(pipe)}): {"position": len("1\n2 and more\n3\n4\n5\n")}}
    required = {**worker.rest.get(f"/connectors/{unique}/config").json(), "exactly.once.support": "required"}
    answer = worker.rest.put(f"/connectors/{unique}/config", json=required)
    assert answer.status_code == 400 and "does not support exactly-once" in answer.text, answer.text
    worker.delete(unique)
    wait_for(lambda: not worker.task_processes(), 10, "the end of the task's process")


def write(pipe: Path, text: bytes) -> None:
    """As a writer of its own, as soon as there is a reader."""
    opened: list[int] = []

    def has_reader() -> bool:
        try:
            opened.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        except OSError as error:
            assert error.errno == errno.ENXIO
        return bool(opened)

    wait_for(has_reader, 30, "a reader")
    assert os.write(opened[0], text) == len(text)
    os.close(opened[0])


def test_a_file_that_cannot_be_read_fails_the_task(worker: WorkerProcess, unique: str, tmp_path: Path) -> None:
    _create(worker, unique, tmp_path)
    worker.wait_for_tasks(unique, "FAILED")
    trace = worker.status(unique)["tasks"][0]["trace"]
    assert str(tmp_path) in trace
    worker.delete(unique)


def test_javas_class_name_and_json_converter(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    file = tmp_path / "lines.txt"
    file.write_text('say "hi"\n')
    worker.create(
        unique,
        **{
            "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
            "tasks.max": "1",
            "file": str(file),
            "topic": unique,
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        },
    )
    (value,) = wait_for_values(broker.bootstrap_servers, unique, 1)
    assert value == b'{"schema":{"type":"string","optional":false},"payload":"say \\"hi\\""}'
    worker.delete(unique)


def test_lines_through_a_chain_by_columns(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """Lines that no column can have as numbers go one by one, and their neighbours in the file by columns."""
    numbers = [str(n) for n in range(5000)]
    lines = [*numbers, 'none "\U0001f30a"', *numbers]
    file = tmp_path / "lines.txt"
    file.write_text("\n".join(lines) + "\n")
    steps = {
        "number": {"type": "Cast$Value", "spec": "int64"},
        "hoist": {"type": "HoistField$Value", "field": "n"},
        "insert": {"type": "InsertField$Value", "static.field": "origin", "static.value": 'a "file"'},
        "route": {"type": "RegexRouter", "regex": ".*", "replacement": f"{unique}-routed"},
        "mark": {"type": "InsertHeader", "header": "h", "value.literal": "7"},
    }
    worker.create(
        unique,
        **{
            **{"connector.class": "FileStreamSource", "tasks.max": "1", "file": str(file), "topic": unique},
            **{"value.converter": "JsonConverter", "value.converter.schemas.enable": "false"},
            **{"errors.tolerance": "all", "transforms": ",".join(steps)},
            **{f"transforms.{a}.{key}": value for a, step in steps.items() for key, value in step.items()},
        },
    )
    found = wait_for_values(broker.bootstrap_servers, f"{unique}-routed", 10_000)
    assert found == [b'{"n":%s,"origin":"a \\"file\\""}' % line.encode() for line in [*numbers, *numbers]]
    offsets = committed_offsets(broker.bootstrap_servers, worker.properties["offset.storage.topic"], unique)
    assert offsets == {json.dumps({"filename": str(file)}): {"position": file.stat().st_size}}
    records = read_committed(broker.bootstrap_servers, f"{unique}-routed")
    assert {tuple(record.headers or ()) for record in records} == {(("h", b"7"),)}
    worker.delete(unique)


def _create(worker: WorkerProcess, name: str, file: Path) -> None:
    worker.create(name, **{"connector.class": "FileStreamSource", "tasks.max": "1", "file": str(file), "topic": name})
