# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from headrace.cli.ctl.offset_changes import Change, Effect, Known, canonical, changes, effect, is_same_class, summary

PARTITION = {"kafka_topic": "t", "kafka_partition": 0}
FILE = {"connector.class": "FileStreamSource", "file": "f"}


def sink(now: int | None, then: int | None, reset: str | None = "earliest", first: int = 100, end: int = 1000) -> str:
    bounds = {"reset": reset, "partitions": [{"partition": PARTITION, "first": first, "end": end}]}
    offsets = [None if offset is None else {"kafka_offset": offset} for offset in (now, then)]
    return effect(Change(PARTITION, *offsets), Known({}, bounds if reset else None, reset is not None)).text


@pytest.mark.parametrize(
    ("now", "then", "reset", "said"),
    [
        (900, 300, "earliest", "repeats up to 600 records"),
        (300, 900, "earliest", "skips up to 600 records"),
        (900, 900, "earliest", "none"),
        (900, 1000, "earliest", "skips up to 100 records"),
        (900, 100, "earliest", "repeats up to 800 records"),
        (
            900,
            None,
            "earliest",
            "repeats up to 800 records: begins at the first record, 100 (auto.offset.reset=earliest)",
        ),
        (900, None, "latest", "skips up to 100 records: begins at the end, 1,000 (auto.offset.reset=latest)"),
        (900, None, "none", "unknown: the task will fail (auto.offset.reset=none)"),
        (None, 300, "earliest", "skips up to 200 records"),
        (None, 300, "latest", "repeats up to 700 records"),
        # An offset that Kafka no longer has is one that there is none of.
        (50, 300, "earliest", "skips up to 200 records"),
        (
            900,
            99,
            "earliest",
            "repeats up to 800 records: 99 is before the first record, 100; begins at the first record, 100 "
            "(auto.offset.reset=earliest)",
        ),
        (
            900,
            1001,
            "latest",
            "skips up to 100 records: 1,001 is beyond the end, 1,000; begins at the end, 1,000 "
            "(auto.offset.reset=latest)",
        ),
        # Java's workers do not know the bounds.
        (900, 300, None, "repeats up to 600 records: if Kafka has them, which is not known"),
        (900, None, None, "unknown: where it begins is for auto.offset.reset and Kafka to say"),
    ],
)
def test_sinks(now: int | None, then: int | None, reset: str | None, said: str) -> None:
    assert sink(now, then, reset) == said


@pytest.mark.parametrize(
    ("now", "then", "said"),
    [
        ({"position": 1200}, {"position": 0}, "repeats up to 1,200 bytes"),
        ({"position": 0}, {"position": 7}, "skips up to 7 bytes"),
        (None, {"position": 7}, "skips up to 7 bytes"),
        ({"position": 7}, None, "repeats up to 7 bytes"),
        ({"position": True}, {"position": 1}, "unknown"),
    ],
)
def test_the_file_source(now: Any, then: Any, said: str) -> None:
    assert effect(Change({"filename": "f"}, now, then), Known(FILE, None, is_headrace=True)).text == said


@pytest.mark.parametrize(
    ("partition", "config", "is_headrace"),
    [
        ({"filename": "other"}, FILE, True),
        ({"filename": "f"}, FILE, False),
        ({"filename": "f"}, {**FILE, "connector.class": "a.B"}, True),
    ],
)
def test_nothing_is_said_that_may_be_false(partition: Any, config: dict[str, str], is_headrace: bool) -> None:
    change = Change(partition, {"position": 1200}, {"position": 0})
    assert effect(change, Known(config, None, is_headrace)) == Effect(None, note="position is 1,200 lower")


@pytest.mark.parametrize(
    ("now", "then", "said"),
    [
        ({"id": 1, "table": "a"}, {"id": 5, "table": "a"}, "unknown: id is 4 higher"),
        ({"id": 1, "at": 2}, {"id": 5, "at": 3}, "unknown"),
        ({"id": 1.5}, {"id": 5}, "unknown"),
        ({"id": 1}, {"id": 5, "at": 3}, "unknown"),
        ({"id": 1}, None, "unknown"),
    ],
)
def test_other_sources(now: Any, then: Any, said: str) -> None:
    assert effect(Change({"p": 1}, now, then), Known({})).text == said


def entry(partition: Any, offset: Any) -> dict[str, Any]:
    return {"partition": partition, "offset": offset}


def test_partitions_that_no_request_names() -> None:
    now = [entry({"a": 1, "b": 2}, {"p": 1}), entry({"a": 2}, {"p": 2})]
    wanted = [entry({"b": 2, "a": 1}, {"p": 1}), entry({"a": 3}, {"p": 3})]
    named = [Change({"b": 2, "a": 1}, {"p": 1}, {"p": 1}), Change({"a": 3}, None, {"p": 3})]
    assert changes(now, wanted) == [*named, Change({"a": 2}, {"p": 2}, {"p": 2}, kept=True)]
    assert changes(now, wanted, exact=True) == [*named, Change({"a": 2}, {"p": 2}, None)]
    assert [change.differs for change in changes(now, wanted)] == [False, True, False]


def test_equal_json() -> None:
    assert canonical({"a": 1, "b": [2]}) == canonical({"b": [2], "a": 1})
    assert len({canonical({"a": value}) for value in (1, 1.0, True, "1", None)}) == 5
    assert canonical({**PARTITION, "kafka_partition": "0"}) == canonical(PARTITION)


def test_the_sum() -> None:
    offsets = [(900, 300), (500, 600), (100, 100)]
    bounds = [{"partition": {"kafka_topic": "t", "kafka_partition": n}, "first": 0, "end": 1000} for n in range(3)]
    found = [
        Change(bound["partition"], {"kafka_offset": now}, {"kafka_offset": then})
        for bound, (now, then) in zip(bounds, offsets, strict=True)
    ]
    known = Known({}, {"reset": "earliest", "partitions": bounds}, is_headrace=True)
    assert summary(found, known) == "This repeats up to 600 records, skips up to 100 records."
    assert summary(found[2:], known) == "This repeats and skips nothing."
    unknown = [Change({"a": n}, {"p": 1}, None) for n in range(2)]
    assert summary(unknown, known) == "This has an unknown effect on 2 partitions."


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("FileStreamSource", "org.apache.kafka.connect.file.FileStreamSourceConnector", True),
        ("FileStreamSource", "FileStreamSink", False),
        ("com.a.JdbcSourceConnector", "JdbcSource", True),
        ("com.a.JdbcSourceConnector", "com.b.JdbcSourceConnector", False),
        ("java:com.a.JdbcSourceConnector", "com.a.JdbcSourceConnector", True),
        ("my_module:MySource", "my_module.MySource", True),
        ("", "", False),
        (None, "a.B", False),
    ],
)
def test_names_of_one_class(one: str | None, other: str | None, same: bool) -> None:
    assert is_same_class(one, other) is same
