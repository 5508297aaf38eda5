# SPDX-License-Identifier: Apache-2.0
"""Records that a sink cannot take: the task's end, or a dead letter topic. And targets that cannot be written to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.kafka.admin.topic_admin import TopicAdmin
from tests.support.polling import wait_for
from tests.support.sinks import (
    Journal,
    committed,
    create_journal_sink,
    create_sink,
    make_topic,
    numbers,
    send,
    wait_for_committed,
    wait_for_lines,
)
from tests.support.topics import Read, read_committed, wait_for_values
from tests.support.worker_process import WorkerProcess

JSON = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "false"}


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal.jsonl")


def set_aside(name: str, **more: str) -> dict[str, str]:
    prefix = "errors.deadletterqueue."
    return {
        "errors.tolerance": "all",
        f"{prefix}topic.name": f"{name}-dead",
        f"{prefix}topic.replication.factor": "1",
        f"{prefix}context.headers.enable": "true",
        **more,
    }


def letters(bootstrap: str, name: str, count: int) -> list[Read]:
    wait_for_values(bootstrap, f"{name}-dead", count)
    return read_committed(bootstrap, f"{name}-dead")


def reported(letter: Read) -> dict[str, str]:
    prefix = "__connect.errors."
    return {key.removeprefix(prefix): (text or b"").decode() for key, text in letter.headers if key.startswith(prefix)}


def wait_for_counts(worker: WorkerProcess, name: str, fits: Callable[[int, int, int], bool]) -> None:
    """Wait until the records, errors and retries of the sink itself, in its task's health, are what ``fits``."""

    def found() -> list[int]:
        (task,) = worker.rest.get(f"/connectors/{name}/health").json()["tasks"]
        return [task["steps"][-1][field] for field in ("records_in", "errors", "retries")] if task["steps"] else []

    wait_for(lambda: (counts := found()) and fits(*counts), 20, lambda: f"{found()}")


def test_what_cannot_be_read_ends_the_task_and_is_named(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    bootstrap, file = broker.bootstrap_servers, tmp_path / "out.txt"
    make_topic(bootstrap, unique)
    send(bootstrap, unique, [b"1", b"2"])
    create_sink(worker, unique, unique, file, **JSON)
    wait_for_lines(file, 2)
    send(bootstrap, unique, [b"3", b"no json", b"5"])
    worker.wait_for_tasks(unique, "FAILED")
    trace = worker.status(unique)["tasks"][0]["trace"].splitlines()[0]
    assert trace.startswith(
        "VALUE_CONVERTER (org.apache.kafka.connect.json.JsonConverter) failed for "
        f"the record of topic {unique}, partition 0, offset 3: "
    )
    assert trace.endswith("To set such records aside, set errors.tolerance=all and errors.deadletterqueue.topic.name")
    # The batch that it was in was not put.
    written = len(file.read_text().splitlines())
    assert written <= 3
    assert committed(bootstrap, f"connect-{unique}", unique) == {0: written}
    worker.delete(unique)


def test_what_cannot_be_read_is_set_aside_as_it_was(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    bootstrap, file = broker.bootstrap_servers, tmp_path / "out.txt"
    make_topic(bootstrap, unique)
    send(bootstrap, unique, [b"1"])
    send(bootstrap, unique, [b"no json"], key=b"k", headers=[("h", b"x")], timestamp=1_700_000_000_123)
    send(bootstrap, unique, [b"3"])
    create_sink(worker, unique, unique, file, **JSON, **set_aside(unique))
    assert wait_for_lines(file, 2) == ["1", "3"]
    wait_for_committed(bootstrap, unique, unique, {0: 3})
    [letter] = letters(bootstrap, unique, 1)
    assert (letter.key, letter.value, letter.timestamp) == (b"k", b"no json", 1_700_000_000_123)
    assert letter.headers[0] == ("h", b"x")
    about = reported(letter)
    assert about["exception.class.name"] == "org.apache.kafka.connect.errors.DataException"
    assert list(about)[:7] == ["topic", "partition", "offset", "connector.name", "task.id", "stage", "class.name"]
    assert list(about.values())[:7] == [
        *(unique, "0", "1", unique, "0", "VALUE_CONVERTER", "org.apache.kafka.connect.json.JsonConverter")
    ]
    admin = TopicAdmin({"bootstrap.servers": bootstrap})
    assert len(admin.partitions(f"{unique}-dead")) == 1
    admin.close()
    worker.delete(unique)


def test_a_task_reports_records_itself(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, journal: Journal
) -> None:
    bootstrap = broker.bootstrap_servers
    make_topic(bootstrap, unique)
    send(bootstrap, unique, numbers(0, 20))
    # What is set aside is the record as it was consumed, not what a transformation has made of it.
    route = {"transforms": "r", "transforms.r.type": "RegexRouter"}
    route |= {"transforms.r.regex": "(.*)", "transforms.r.replacement": "elsewhere"}
    create_journal_sink(worker, unique, unique, journal, report="7", **route, **set_aside(unique))
    first, second = letters(bootstrap, unique, 2)
    assert (first.value, second.value) == (b"7", b"17")
    about = reported(first)
    assert (about["topic"], about["offset"], about["stage"]) == (unique, "7", "TASK_PUT")
    assert (about["exception.class.name"], about["exception.message"]) == ("ValueError", "cannot take 7")
    wait_for_committed(bootstrap, unique, unique, {0: 20})
    wait_for_counts(worker, unique, lambda *counts: counts == (20, 2, 0))
    worker.delete(unique)


def test_a_report_that_is_not_tolerated_ends_the_task_even_if_it_is_swallowed(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, journal: Journal
) -> None:
    bootstrap = broker.bootstrap_servers
    make_topic(bootstrap, unique)
    send(bootstrap, unique, numbers(0, 20))
    create_journal_sink(worker, unique, unique, journal, **{"report": "7", "errors.log.enable": "true"})
    worker.wait_for_tasks(unique, "FAILED")
    assert f"topic {unique}, partition 0, offset 7: ValueError: cannot take 7" in str(worker.status(unique))
    journal.wait_for("swallowed")
    assert committed(bootstrap, f"connect-{unique}", unique) in ({}, {0: 0})
    wait_for_counts(worker, unique, lambda *counts: counts == (0, 1, 0))
    worker.delete(unique)


def test_a_target_that_cannot_be_opened(worker: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    make_topic(broker.bootstrap_servers, unique)
    create_sink(worker, unique, unique, Path("/nonexistent/out.txt"))
    worker.wait_for_tasks(unique, "FAILED")
    trace = worker.status(unique)["tasks"][0]["trace"]
    assert trace.startswith("file '/nonexistent/out.txt' could not be opened: No such file or directory")
    worker.delete(unique)


def test_a_full_target_is_tried_again_and_nothing_is_committed(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str
) -> None:
    """/dev/full is always full."""
    bootstrap = broker.bootstrap_servers
    make_topic(bootstrap, unique)
    send(bootstrap, unique, numbers(0, 5))
    create_sink(worker, unique, unique, Path("/dev/full"))
    again = "put failed for 5 records, which will be put again: file '/dev/full' could not be written to: No space left"
    wait_for(lambda: again in worker.log, 60, lambda: worker.log[-3000:])
    assert worker.task_states(unique) == ["RUNNING"]
    assert committed(bootstrap, f"connect-{unique}", unique) == {}
    wait_for_counts(worker, unique, lambda records, errors, retries: (records, errors) == (0, 0) and retries > 0)
    worker.delete(unique)
    assert committed(bootstrap, f"connect-{unique}", unique) == {}
