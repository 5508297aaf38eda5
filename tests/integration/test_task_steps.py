# SPDX-License-Identifier: Apache-2.0
"""The counts of a source's and a sink's steps on a real worker, compared with the records in Kafka and in the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.exactly_once import create_numbered
from tests.support.polling import wait_for
from tests.support.sinks import create_sink, lines, wait_for_lines
from tests.support.topics import values
from tests.support.worker_process import WorkerProcess

COUNT = 700
FIELDS = ("records_in", "records_out", "filtered", "errors")
STEPS = {
    "transforms": "keep,refuse",
    "transforms.keep.type": "Filter",
    "transforms.keep.predicate": "some",
    "predicates": "some",
    "predicates.some.type": "failing_transforms.Multiple",
    "transforms.refuse.type": "failing_transforms.Refuse",
    "value.converter": "JsonConverter",
    "value.converter.schemas.enable": "false",
    "errors.tolerance": "all",
}
SPOIL = {
    "transforms": "keep,refuse,spoil",
    "transforms.spoil.type": "failing_transforms.Spoil",
    "transforms.spoil.every": "5",
}


def dividing(filtered: int, refused: int) -> dict[str, str]:
    return {**STEPS, "predicates.some.of": str(filtered), "transforms.refuse.every": str(refused)}


def steps_of(worker: WorkerProcess, name: str) -> dict[str, Any]:
    """The counts of the steps of its only task, by kind or alias."""
    tasks = worker.rest.get(f"/connectors/{name}/health").json().get("tasks", ())  # none before it has a status
    steps = [step for task in tasks for step in task["steps"] or ()]
    return {step["alias"] or step["kind"]: tuple(step[field] for field in FIELDS) for step in steps}


def wait_for_steps(worker: WorkerProcess, name: str, expected: dict[str, tuple[int | None, ...]]) -> None:
    wait_for(
        lambda: list(steps_of(worker, name).items()) == list(expected.items()),
        60,
        lambda: f"{expected}, but: {steps_of(worker, name)}",
    )


def test_what_steps_count_is_what_is_in_kafka_and_in_the_file(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    source, sink, file = f"{unique}-source", f"{unique}-sink", tmp_path / "out.txt"
    create_numbered(worker, source, COUNT, **(dividing(10, 7) | SPOIL))
    kept = [n for n in range(COUNT) if n % 10]
    passed = [n for n in kept if n % 7]
    written = [n for n in passed if n % 5]
    expected = {
        "source": (None, COUNT, None, 0),
        "keep": (COUNT, len(kept), COUNT - len(kept), 0),
        "refuse": (len(kept), len(passed), 0, len(kept) - len(passed)),
        "spoil": (len(passed), len(passed), 0, 0),
        "converter": (len(passed), len(written), None, len(passed) - len(written)),
        "topic": (len(written), None, None, 0),
    }
    wait_for_steps(worker, source, expected)
    assert values(broker.bootstrap_servers, source) == [b'"%d"' % n for n in written]

    create_sink(worker, sink, source, file, **dividing(2, 3))
    odd = [n for n in written if n % 2]
    put = [n for n in odd if n % 3]
    expected = {
        "topic": (None, len(written), None, 0),
        "converter": (len(written), len(written), None, 0),
        "keep": (len(written), len(odd), len(written) - len(odd), 0),
        "refuse": (len(odd), len(put), 0, len(odd) - len(put)),
        "sink": (len(put), None, None, 0),
    }
    wait_for_steps(worker, sink, expected)
    assert wait_for_lines(file, len(put)) == [str(n) for n in put] == lines(file)

    listed = worker.rest.get("/connectors?expand=health").json()
    assert [task for each in (source, sink) for task in listed[each]["health"]["tasks"] if "steps" in task] == []
    for each in (source, sink):
        worker.delete(each)


def test_what_ends_a_task_counts_as_an_error(worker: WorkerProcess, unique: str) -> None:
    create_numbered(worker, unique, 50, **(dividing(10, 33) | {"errors.tolerance": "none"}), batch="10")
    worker.wait_for_tasks(unique, "FAILED")
    # 33 is in the fourth batch, which is not done.
    expected = {
        "source": (None, 40, None, 0),
        "keep": (30, 27, 3, 0),
        "refuse": (27, 27, 0, 1),
        "converter": (27, 27, None, 0),
        "topic": (27, None, None, 0),
    }
    wait_for_steps(worker, unique, expected)
    worker.delete(unique)
