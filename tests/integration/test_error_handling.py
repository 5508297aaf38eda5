# SPDX-License-Identifier: Apache-2.0
"""Records that fail on their way through a real task: tried again, set aside exactly once, or the task's end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.exactly_once import assert_contiguous, create_numbered
from tests.support.polling import wait_for
from tests.support.sinks import make_topic
from tests.support.topics import Read, committed_offsets, read_committed, wait_for_values
from tests.support.worker_process import WorkerProcess

COUNT = 700
REFUSE = {"transforms": "refuse", "transforms.refuse.type": "failing_transforms.Refuse", "transforms.refuse.every": "7"}
SPOIL = {"transforms.spoil.type": "failing_transforms.Spoil", "transforms.spoil.every": "5"}
BOTH = {**REFUSE, **SPOIL, "transforms": "refuse,spoil", "value.converter": "JsonConverter"}
PLAIN_JSON = {"value.converter.schemas.enable": "false"}


def set_aside(name: str, **more: str) -> dict[str, str]:
    prefix = "errors.deadletterqueue."
    return {
        "errors.tolerance": "all",
        f"{prefix}topic.name": dead(name),
        f"{prefix}topic.replication.factor": "1",
        f"{prefix}context.headers.enable": "true",
        **more,
    }


def dead(name: str) -> str:
    return f"{name}-dead"


def both_topics(bootstrap: str, name: str) -> tuple[list[Read], list[Read]]:
    return read_committed(bootstrap, name), read_committed(bootstrap, dead(name))


def wait_for_both(bootstrap: str, name: str, count: int) -> tuple[list[Read], list[Read]]:
    read: list[tuple[list[Read], list[Read]]] = []

    def enough() -> bool:
        read[:] = [both_topics(bootstrap, name)]
        return len(read[0][0]) + len(read[0][1]) >= count

    wait_for(enough, 60, lambda: f"{count} records: {[len(topic) for topic in read[0]]} are there")
    return read[0]


def numbers(records: list[Read]) -> list[int]:
    """Dead letters hold text as JSON, as the topic does that the JsonConverter writes."""
    return [int(json.loads(record.value or b"")) for record in records]


def assert_distinguished(good: list[Read], bad: list[Read], count: int) -> None:
    wanted = [n for n in range(count) if n % 7 and n % 5]
    assert numbers(good) == wanted
    assert sorted(numbers(bad)) == sorted(set(range(count)) - set(wanted))
    for record in bad:
        headers = {key.removeprefix("__connect.errors."): text for key, text in record.headers}
        [n] = numbers([record])
        assert json.loads(headers["source.offset"] or b"") == {"seqno": n}
        assert headers["stage"] == (b"TRANSFORMATION" if n % 7 == 0 else b"VALUE_CONVERTER")


@pytest.mark.parametrize("point", ["before_commit", "after_commit"])
def test_set_aside_exactly_once_though_the_process_dies(
    point: str, worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    once = tmp_path / "once"
    once.touch()
    death = {"die.at": point, "die.once": str(once)}
    create_numbered(worker, unique, COUNT, **BOTH, **PLAIN_JSON, **set_aside(unique), **death)
    good, bad = wait_for_both(broker.bootstrap_servers, unique, COUNT)
    assert not once.exists(), "the process never died"
    assert_distinguished(good, bad, COUNT)
    last = {json.dumps({"id": "0"}): {"seqno": COUNT - 1}}
    assert committed_offsets(broker.bootstrap_servers, worker.properties["offset.storage.topic"], unique) == last
    worker.wait_for_tasks(unique)
    worker.delete(unique)


def test_a_batch_of_dead_letters_alone_advances_the_offset(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str
) -> None:
    create_numbered(worker, unique, 300, **{**REFUSE, "transforms.refuse.every": "1"}, **set_aside(unique))
    letters = wait_for_values(broker.bootstrap_servers, dead(unique), 300)
    assert letters == [b'"%d"' % n for n in range(300)]
    offsets = committed_offsets(broker.bootstrap_servers, worker.properties["offset.storage.topic"], unique)
    assert offsets == {json.dumps({"id": "0"}): {"seqno": 299}}
    worker.delete(unique)


def test_nothing_is_tolerated_by_default(worker: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    create_numbered(worker, unique, 50, **{**REFUSE, "transforms.refuse.every": "33"}, batch="10")
    # 0 is a multiple of everything.
    trace = failure(worker, unique)
    assert trace.splitlines()[0] == (
        f"TRANSFORMATION refuse (failing_transforms.Refuse) failed for the record of topic {unique} with source "
        "partition {'id': '0'} and offset {'seqno': 0}: 0 is refused. "
        "To set such records aside, set errors.tolerance=all and errors.deadletterqueue.topic.name"
    )
    assert committed_offsets(broker.bootstrap_servers, worker.properties["offset.storage.topic"], unique) == {}
    worker.delete(unique)


def failure(worker: WorkerProcess, name: str) -> str:
    worker.wait_for_tasks(name, "FAILED")
    trace: str = worker.status(name)["tasks"][0]["trace"]
    return trace


def test_a_replication_factor_that_the_cluster_cannot_do(worker: WorkerProcess, unique: str) -> None:
    factor = "errors.deadletterqueue.topic.replication.factor"
    create_numbered(worker, unique, 50, **REFUSE, **set_aside(unique, **{factor: "3"}))
    trace = failure(worker, unique)
    assert f"Invalid value '3' for configuration {factor}: topic '{dead(unique)}' cannot be made" in trace
    assert "\n" not in trace
    worker.delete(unique)


def waver(times: int, **more: str) -> dict[str, str]:
    kind = {"transforms.w.type": "failing_transforms.Waver", "transforms.w.at": "150", "transforms.w.times": str(times)}
    return {"transforms": "w", **kind, **more}


def test_what_may_succeed_later_does(worker: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    create_numbered(worker, unique, 300, **waver(2, **{"errors.retry.timeout": "20000"}))
    assert_contiguous(wait_for_values(broker.bootstrap_servers, unique, 300), 300)
    assert worker.task_states(unique) == ["RUNNING"]
    worker.delete(unique)


def test_a_task_stops_while_it_tries_again_for_ever(worker: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    create_numbered(worker, unique, 300, **waver(10**9, **{"errors.retry.timeout": "-1"}, **set_aside(unique)))
    assert_contiguous(wait_for_values(broker.bootstrap_servers, unique, 100), 100)
    worker.wait_for_tasks(unique)
    # Resumed without the obstacle, it loses nothing and repeats nothing.
    answer = worker.rest.put(f"/connectors/{unique}/config", json=config(worker, unique, **waver(0)))
    assert answer.status_code == 200, answer.text
    assert_contiguous(wait_for_values(broker.bootstrap_servers, unique, 300), 300)
    assert read_committed(broker.bootstrap_servers, dead(unique)) == []
    worker.delete(unique)


def config(worker: WorkerProcess, name: str, **changes: str) -> dict[str, Any]:
    found: dict[str, Any] = worker.rest.get(f"/connectors/{name}/config").json()
    return {**found, **changes}


SWELL = {
    "transforms": "swell",
    "transforms.swell.type": "failing_transforms.Swell",
    "transforms.swell.every": "7",
    "transforms.swell.bytes": "200000",
}
LARGE = 701
"""Numbers, of which the last one is too large for its topic."""


def make_small(broker: EmbeddedBroker, topic: str) -> None:
    make_topic(broker.bootstrap_servers, topic, **{"max.message.bytes": "100000"})


def assert_large_are_set_aside(worker: WorkerProcess, broker: EmbeddedBroker, name: str) -> None:
    good, bad = wait_for_both(broker.bootstrap_servers, name, LARGE)
    assert [int(record.value or b"-1") for record in good] == [n for n in range(LARGE) if n % 7]
    assert numbers(bad) == list(range(0, LARGE, 7))
    for record in bad:
        headers = dict(record.headers)
        assert headers["__connect.errors.stage"] == b"KAFKA_PRODUCE"
        java = b"org.apache.kafka.common.errors.RecordTooLargeException"
        assert headers["__connect.errors.exception.class.name"] == java
        assert b"max.message.bytes=100000" in (headers["__connect.errors.exception.message"] or b"")
    last, topic = {json.dumps({"id": "0"}): {"seqno": LARGE - 1}}, worker.properties["offset.storage.topic"]
    wait_for(lambda: committed_offsets(broker.bootstrap_servers, topic, name) == last, 30, "the last offset")


@pytest.mark.parametrize("point", ["before_commit", "after_commit"])
def test_records_too_large_for_their_topic_are_set_aside_exactly_once(
    point: str, worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    once = tmp_path / "once"
    once.touch()
    make_small(broker, unique)
    create_numbered(worker, unique, LARGE, **SWELL, **set_aside(unique), **{"die.at": point, "die.once": str(once)})
    assert_large_are_set_aside(worker, broker, unique)
    assert not once.exists(), "the process never died"
    assert both_topics(broker.bootstrap_servers, unique) == wait_for_both(broker.bootstrap_servers, unique, LARGE)
    figures = worker.rest.get("/metrics").text
    skipped = [line for line in figures.splitlines() if "records_skipped" in line and f'"{unique}"' in line]
    assert skipped and float(skipped[0].split()[-1]) > 0, figures
    worker.delete(unique)


def test_records_too_large_at_least_once(
    at_least_once_worker: WorkerProcess, broker: EmbeddedBroker, unique: str
) -> None:
    make_small(broker, unique)
    create_numbered(at_least_once_worker, unique, LARGE, **SWELL, **set_aside(unique))
    assert_large_are_set_aside(at_least_once_worker, broker, unique)


def test_what_brokers_refuse_at_least_once(
    at_least_once_worker: WorkerProcess, broker: EmbeddedBroker, unique: str
) -> None:
    """Only the broker sees that records are too large when they are compressed. It refuses whole batches for them."""
    make_topic(broker.bootstrap_servers, unique, **{"max.message.bytes": "2000"})
    small = {**SWELL, "transforms.swell.type": "failing_transforms.Swell", "transforms.swell.random": "true"}
    small["transforms.swell.bytes"] = "5000"
    create_numbered(
        at_least_once_worker, unique, 71, **small, **set_aside(unique), **{"producer.override.compression.type": "gzip"}
    )
    good, bad = wait_for_both(broker.bootstrap_servers, unique, 71)
    assert sorted(int(record.value or b"-1") for record in good) == [n for n in range(71) if n % 7]
    assert sorted(numbers(bad)) == list(range(0, 71, 7))
    for record in bad:
        headers = dict(record.headers)
        assert headers["__connect.errors.stage"] == b"KAFKA_PRODUCE"
        assert b"MSG_SIZE_TOO_LARGE" in (headers["__connect.errors.exception.message"] or b"")
    last, topic = {json.dumps({"id": "0"}): {"seqno": 70}}, at_least_once_worker.properties["offset.storage.topic"]
    wait_for(lambda: committed_offsets(broker.bootstrap_servers, topic, unique) == last, 30, "the last offset")
    assert at_least_once_worker.task_states(unique) == ["RUNNING"]


def test_records_too_large_are_not_tolerated_by_default(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str
) -> None:
    make_small(broker, unique)
    create_numbered(worker, unique, 50, **{**SWELL, "transforms.swell.every": "33"}, batch="10")
    assert "MSG_SIZE_TOO_LARGE" in failure(worker, unique)
    assert read_committed(broker.bootstrap_servers, unique) == []
    worker.delete(unique)


def test_a_record_too_large_for_the_dead_letter_topic_leaves_its_place_there(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """Though the user has not asked for headers, they name the record's place."""
    file, huge = tmp_path / "lines.txt", b"x" * 2_000_000
    file.write_bytes(b"\n".join([b"first", huge, b"third", huge, b""]))
    config = {"connector.class": "FileStreamSource", "tasks.max": "1", "file": str(file), "topic": unique}
    without = {"errors.deadletterqueue.context.headers.enable": "false"}
    worker.create(unique, **config, **set_aside(unique, **without))
    good, bad = wait_for_both(broker.bootstrap_servers, unique, 4)
    assert [record.value for record in good] == [b"first", b"third"]
    assert [(record.key, record.value) for record in bad] == [(None, None)] * 2
    places = [json.loads(dict(record.headers)["__connect.errors.source.offset"] or b"") for record in bad]
    assert places == [{"position": 2_000_007}, {"position": 4_000_014}]
    offsets = committed_offsets(broker.bootstrap_servers, worker.properties["offset.storage.topic"], unique)
    assert offsets == {json.dumps({"filename": str(file)}): {"position": file.stat().st_size}}
    worker.delete(unique)


def test_set_aside_at_least_once(at_least_once_worker: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    worker = at_least_once_worker
    create_numbered(worker, unique, COUNT, **BOTH, **PLAIN_JSON, **set_aside(unique))
    good, bad = wait_for_both(broker.bootstrap_servers, unique, COUNT)
    assert_distinguished(good, bad, COUNT)
    topic = worker.properties["offset.storage.topic"]
    last = {json.dumps({"id": "0"}): {"seqno": COUNT - 1}}
    wait_for(lambda: committed_offsets(broker.bootstrap_servers, topic, unique) == last, 30, "the last offset")
