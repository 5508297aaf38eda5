# SPDX-License-Identifier: Apache-2.0
"""Queries and functions over what real sinks consume, through Spark: every row with the place of its record."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.sinks import (
    Journal,
    committed,
    create_journal_sink,
    make_topic,
    numbers,
    send,
    wait_for_committed,
)
from tests.support.worker_process import WorkerProcess, mistakes

WORDS = (
    "SELECT topic, partition, offset, timestamp, key, headers, explode(split(value, ' ')) AS value FROM records "
    "WHERE value <> ''"
)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal.jsonl")


def query(text: str, **more: str) -> dict[str, str]:
    return {"transforms": "q", "transforms.q.type": "SparkSql", "transforms.q.query": text, **more}


def failure(worker: WorkerProcess, name: str) -> str:
    worker.wait_for_tasks(name, "FAILED")
    trace: str = worker.status(name)["tasks"][0]["trace"]
    return trace


def test_rows_are_put_with_the_places_of_their_records(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, journal: Journal
) -> None:
    """Steps on records stand around the query, which drops some records and makes several of others."""
    bootstrap = broker.bootstrap_servers
    make_topic(bootstrap, unique, 2)
    send(bootstrap, unique, [b"a b", b"", b"c"], key=b"k", headers=[("h", b"1")])
    send(bootstrap, unique, [b"d e f", b""], 1)
    steps = {
        "transforms": "route,q,mark",
        "transforms.route.type": "RegexRouter",
        "transforms.route.regex": ".*",
        "transforms.route.replacement": "routed",
        "transforms.mark.type": "InsertHeader",
        "transforms.mark.header": "by",
        "transforms.mark.value.literal": "query",
    }
    create_journal_sink(worker, unique, unique, journal, **{**query(WORDS), **steps})
    journal.wait_for_values(list("abcdef"))
    records = sorted(journal.records(), key=lambda record: str(record["value"]))
    places = [["a", 0, 0], ["b", 0, 0], ["c", 0, 2], ["d", 1, 0], ["e", 1, 0], ["f", 1, 0]]
    assert [[r["value"], *r["original"]] for r in records] == [[value, unique, *place] for value, *place in places]
    assert {r["topic"] for r in records} == {"routed"}
    assert (records[0]["key"], records[0]["headers"]) == ("k", [["h", "1"], ["by", "query"]])
    assert records[0]["timestamp_type"] == "CreateTime" and records[0]["timestamp"] > 0
    wait_for_committed(bootstrap, unique, unique, {0: 3, 1: 2})
    # And nothing at all is left of these.
    send(bootstrap, unique, [b"", b""])
    wait_for_committed(bootstrap, unique, unique, {0: 5, 1: 2})
    assert len(journal.records()) == 6
    worker.delete(unique)


def test_an_aggregation_is_one_of_a_batch_and_topic(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, journal: Journal
) -> None:
    bootstrap, topics = broker.bootstrap_servers, [f"{unique}-a", f"{unique}-b"]
    for n, topic in enumerate(topics):
        make_topic(bootstrap, topic)
        send(bootstrap, topic, numbers(100 * n, 10))
    text = (
        "SELECT partition, max(offset) AS offset, cast(sum(cast(value AS INT)) AS STRING) AS value FROM records "
        "GROUP BY partition"
    )
    create_journal_sink(worker, unique, ",".join(topics), journal, **query(text))
    for topic in topics:
        wait_for_committed(bootstrap, unique, topic, {0: 10})
    sums: Counter[str] = Counter()
    for record in journal.records():
        assert record["topic"] == record["original"][0]
        sums[record["topic"]] += int(record["value"])
    assert sums == {topics[0]: 45, topics[1]: 1045}
    assert {tuple(record["original"]) for record in journal.records()} >= {(topic, 0, 9) for topic in topics}
    worker.delete(unique)


def test_a_batch_that_cannot_be_run_now_waits_and_so_does_the_group(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, journal: Journal
) -> None:
    """The function is slower than the group allows, and fails twice for a reason that may pass."""
    bootstrap = broker.bootstrap_servers
    make_topic(bootstrap, unique)
    send(bootstrap, unique, numbers(0, 5))
    group = {f"consumer.override.{name}.ms": "3000" for name in ("max.poll.interval", "session.timeout")}
    group["consumer.override.heartbeat.interval.ms"] = "500"
    step = {"transforms": "f", "transforms.f.type": "listed_source.reluctant"}
    create_journal_sink(worker, unique, unique, journal, **step, **group)
    journal.wait_for("open")
    send(bootstrap, unique, numbers(5, 5))
    journal.wait_for_values([str(n) for n in range(10)])
    wait_for_committed(bootstrap, unique, unique, {0: 10})
    assert journal.values() == [str(n) for n in range(10)]
    assert (len(journal.events("start")), len(journal.events("open")), journal.events("close")) == (1, 1, [])
    assert worker.log.count("transforms.f could not be run: not in the mood; it is tried again for") == 1
    assert "put succeeded again after" in worker.log
    worker.delete(unique)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT partition, value FROM records", "The result lacks offset: in a sink each row has to name"),
        ("SELECT partition, offset, 1 / (offset - 1) AS value FROM records", "DIVIDE_BY_ZERO"),
    ],
)
def test_a_batch_that_cannot_be_transformed_fails_the_task(
    text: str, expected: str, worker: WorkerProcess, broker: EmbeddedBroker, unique: str, journal: Journal
) -> None:
    bootstrap = broker.bootstrap_servers
    make_topic(bootstrap, unique)
    send(bootstrap, unique, numbers(0, 3))
    create_journal_sink(worker, unique, unique, journal, **query(text))
    trace = failure(worker, unique)
    assert trace.startswith("transforms.q: ") and expected in trace.partition("Traceback")[0], trace
    assert (journal.values(), committed(bootstrap, f"connect-{unique}", unique)) == ([], {})
    worker.delete(unique)


def test_records_that_fail_are_found_and_skipped(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, journal: Journal
) -> None:
    bootstrap = broker.bootstrap_servers
    make_topic(bootstrap, unique)
    send(bootstrap, unique, numbers(0, 9))
    text = "SELECT partition, offset, cast(9 / (offset - 4) AS STRING) AS value FROM records"
    create_journal_sink(worker, unique, unique, journal, **query(text), **{"errors.tolerance": "all"})
    wait_for_committed(bootstrap, unique, unique, {0: 9})
    assert len(journal.values()) == 8
    worker.delete(unique)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT value.a FROM records", "The result lacks partition and offset: in a sink"),
        ("SELECT partition, 'x' AS offset, value FROM records", "Column 'offset' of the result must be BIGINT"),
        ("SELECT partition, offset, value.c FROM records", "FIELD_NOT_FOUND"),
        ("SELECT partition, offset, value.a AS first, inline(array(value)) FROM records WHERE value.a > 0", None),
        ("SELECT * FROM records", None),
        ("SELECT partition, max(offset) AS offset, count(*) AS n FROM records GROUP BY partition", None),
    ],
)
def test_validation_knows_a_sinks_columns(worker: WorkerProcess, unique: str, text: str, expected: str | None) -> None:
    schema = {"transforms.q.value.schema": "a INT, b STRING"}
    config = {"connector.class": "FileStreamSink", "topics": unique, "name": unique, **query(text, **schema)}
    if expected is None:
        assert mistakes(worker, config, wait=False) == {}
        return
    found = mistakes(worker, config)
    assert list(found) == ["transforms.q.query"] and expected in found["transforms.q.query"][0]
    refused = worker.rest.post("/connectors", json={"name": unique, "config": config})
    assert refused.status_code == 400 and expected in refused.text
