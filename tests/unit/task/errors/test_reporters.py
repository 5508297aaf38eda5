# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import logging
from decimal import Decimal
from typing import Any

import pytest

from headrace.api.errors import ConfigError, ConnectError, DataError, RetriableError
from headrace.api.headers import Headers
from headrace.api.record import TimestampType
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.config.connector_config import ErrorHandling
from headrace.model.ids import ConnectorTaskId
from headrace.task.errors.processing_context import ConsumedRecord, Operation, ProcessingContext, Stage
from headrace.task.errors.reporters import DeadLetter, DeadLetterQueueReporter, LogReporter, create_dead_letter
from headrace.task.source.source_batch import SourceDeadLetters
from tests.vectors import reader as vectors

TASK = ConnectorTaskId("c", 3)
OPERATION = Operation(Stage.TRANSFORMATION, "mine.Mask", "mask")


def context(original: Any, error: Exception | None = None, *, tolerated: bool = True) -> ProcessingContext[Any]:
    return ProcessingContext(original, OPERATION, 1, error or DataError("no"), tolerated)


def raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:
        return caught


# ---- dead letters


@pytest.mark.parametrize("vector", vectors.load("internal_formats", op="dlqRecord"))
def test_a_consumed_record_as_java_sets_it_aside(vector: Any) -> None:
    given, expected = vector["input"], vector["output"]
    assert given["exceptionClass"] == "org.apache.kafka.connect.errors.DataException"
    record = ConsumedRecord(
        given["topic"],
        given["partition"],
        given["offset"],
        vectors.value_of(None, given["key"]),
        vectors.value_of(None, given["value"]),
    )
    operation = Operation(Stage[given["stage"]], given["executingClass"])
    failed = ProcessingContext(record, operation, 1, raised(DataError(given["exceptionMessage"])), True)
    letter = create_dead_letter(ConnectorTaskId(given["connector"], given["task"]), failed, True)
    assert letter.key == vectors.value_of(None, expected["key"])
    assert letter.value == vectors.value_of(None, expected["value"])
    *headers, (last, trace) = letter.headers
    *wanted, (wanted_last, _) = [(name, text["text"].encode()) for name, text in expected["headers"]]
    assert (headers, last) == (wanted, wanted_last)
    assert trace is not None and b"Traceback" in trace and given["exceptionMessage"].encode() in trace


def test_own_headers_come_first_and_context_only_if_asked_for() -> None:
    record = ConsumedRecord("t", 0, 1, b"k", None, [("h", b"1"), ("h", None)], 5)
    assert create_dead_letter(TASK, context(record), False) == DeadLetter(b"k", None, [("h", b"1"), ("h", None)], 5)
    with_context = create_dead_letter(TASK, context(record), True).headers
    assert with_context[:3] == [("h", b"1"), ("h", None), ("__connect.errors.topic", b"t")]


@pytest.mark.parametrize(
    ("error", "name", "message"),
    [
        (ConfigError("x"), b"org.apache.kafka.common.config.ConfigException", b"x"),
        (ConnectError("x"), b"org.apache.kafka.connect.errors.ConnectException", b"x"),
        (RetriableError("x"), b"org.apache.kafka.connect.errors.RetriableException", b"x"),
        (KeyError("x"), b"KeyError", b"'x'"),
        (json.JSONDecodeError("bad", "", 0), b"json.decoder.JSONDecodeError", b"bad: line 1 column 1 (char 0)"),
        (ValueError(), b"ValueError", None),
        (ValueError("\ud800"), b"ValueError", b"\\ud800"),
    ],
)
def test_names_of_exceptions(error: Exception, name: bytes, message: bytes | None, record: Any) -> None:
    headers = dict(create_dead_letter(TASK, context(record("v"), error), True).headers)
    assert headers["__connect.errors.exception.class.name"] == name
    assert headers["__connect.errors.exception.message"] == message


def test_a_polled_record_names_its_source(record: Any) -> None:
    polled = record("v", 7, headers=Headers().add_string("h", "x").add("n", 5, Schema.INT8))
    headers = [
        (name.removeprefix("__connect.errors."), text)
        for name, text in create_dead_letter(TASK, context(polled), True).headers
    ]
    assert headers[:-1] == [
        ("h", b"x"),
        ("n", b"5"),
        ("topic", b"t"),
        ("source.partition", b'{"p":"p"}'),
        ("source.offset", b'{"n":7}'),
        ("connector.name", b"c"),
        ("task.id", b"3"),
        ("stage", b"TRANSFORMATION"),
        ("class.name", b"mine.Mask"),
        ("exception.class.name", b"org.apache.kafka.connect.errors.DataException"),
        ("exception.message", b"no"),
    ]


POINT = SchemaBuilder.struct().field("x", Schema.INT32).field("at", Schema.OPTIONAL_STRING).build()


class Odd:
    def __str__(self) -> str:
        return "odd"

    __repr__ = __str__


class Mute:
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (None, None, None),
        (Schema.STRING, "text", b'"text"'),
        (None, {"a": [1, 1.5, None, True]}, b'{"a":[1,1.5,null,true]}'),
        (POINT, Struct(POINT, {"x": 1}), b'{"x":1,"at":null}'),
        (Schema.BYTES, b"\x00\xff", b"\x00\xff"),
        # Not what its schema says.
        (Schema.INT32, {"a": 1}, b'{"a":1}'),
        (POINT, {"x": "one"}, b'{"x":"one"}'),
        # Not what Connect data is.
        (None, {"a": Odd(), "d": Decimal("1.50")}, b'{"a":"odd","d":"1.50"}'),
        (None, {1, }, b'"{1}"'),
        (None, Odd(), b'"odd"'),
        (None, "\ud800", b"\\ud800"),
        (None, {"a": {"b": "\ud800"}}, b"{'a': {'b': '\\ud800'}}"),
    ],
    ids=str,
)  # fmt: skip
def test_a_polled_value_becomes_json_where_it_can(schema: Any, value: Any, expected: bytes | None, record: Any) -> None:
    letter = create_dead_letter(TASK, context(record(value, value_schema=schema, key=value, key_schema=schema)), False)
    assert (letter.key, letter.value) == (expected, expected)


def test_nothing_is_too_odd_to_be_set_aside(record: Any) -> None:
    assert b"Mute object" in (create_dead_letter(TASK, context(record(Mute())), False).value or b"")


def test_dead_letters_wait_for_their_batch(record: Any) -> None:
    letters = SourceDeadLetters("dead")
    assert letters.take() is None
    letters.add(DeadLetter(b"k", b"v", [("h", b"1")], 5))
    letters.add(DeadLetter(None, None, [], None))
    batch = letters.take()
    assert batch is not None
    assert (batch.topic, batch.keys, batch.values) == ("dead", [b"k", None], [b"v", None])
    assert (batch.timestamps, batch.headers, batch.partitions) == ([5, None], [[("h", b"1")], []], None)
    assert letters.take() is None


def test_what_is_not_skipped_is_no_dead_letter(record: Any, errors: Any) -> None:
    sent: list[DeadLetter] = []
    reporter: DeadLetterQueueReporter[Any] = DeadLetterQueueReporter(TASK, False, sent.append, errors.metrics)
    reporter.report(context(record("v"), tolerated=False))
    assert sent == []
    reporter.report(context(record("v")))
    assert [letter.value for letter in sent] == [b'"v"']
    errors.metrics.report()
    assert errors.figures == {"deadletterqueue-produce-requests": 1}


def test_a_letter_without_its_record_still_says_that_it_was_redriven(errors: Any) -> None:
    sent: list[DeadLetter] = []
    reporter: DeadLetterQueueReporter[Any] = DeadLetterQueueReporter(
        TASK, False, sent.append, errors.metrics, lambda letter: letter.value is None
    )
    headers = [("own", b"1"), ("headrace.redriven", b"{}")]
    reporter.report(context(ConsumedRecord("t", 0, 1, None, b"large", headers)))
    assert [name for name, _ in sent[0].headers][:2] == ["headrace.redriven", "__connect.errors.topic"]


# ---- the log


def logged(caplog: pytest.LogCaptureFixture, errors: Any, original: Any, **config: Any) -> list[str]:
    LogReporter[Any](TASK, ErrorHandling(**config), errors.metrics).report(context(original, raised(DataError("no"))))
    return [entry.getMessage() for entry in caplog.records if entry.levelno == logging.ERROR and entry.exc_info]


def test_the_log_hears_only_if_asked(caplog: pytest.LogCaptureFixture, errors: Any, record: Any) -> None:
    assert logged(caplog, errors, record("v"), log_messages=True) == []
    errors.metrics.report()
    assert errors.figures == {}


def test_the_log_names_the_stage(caplog: pytest.LogCaptureFixture, errors: Any, record: Any) -> None:
    assert logged(caplog, errors, record("secret"), log=True) == [
        "Error encountered in task c-3. Executing stage 'TRANSFORMATION' with class 'mine.Mask' "
        "of transformation 'mask'."
    ]
    errors.metrics.report()
    assert errors.figures == {"total-errors-logged": 1}


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        (TimestampType.NO_TIMESTAMP_TYPE, ""),
        (TimestampType.CREATE_TIME, ", timestamp=5, timestampType=CreateTime"),
    ],
)
def test_the_log_includes_the_record_if_asked(
    kind: TimestampType, shown: str, caplog: pytest.LogCaptureFixture, errors: Any, record: Any
) -> None:
    polled = record("secret")
    consumed = ConsumedRecord("t", 1, 2, None, b"secret", timestamp=5, timestamp_type=kind)
    first = logged(caplog, errors, polled, log=True, log_messages=True)
    assert first[0].endswith(f"'mask', where source record is = {polled!r}.")
    second = logged(caplog, errors, consumed, log=True, log_messages=True)
    assert second[1].endswith(f", where consumed record is {{topic='t', partition=1, offset=2{shown}}}.")
