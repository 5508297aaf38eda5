# SPDX-License-Identifier: Apache-2.0
"""TimestampConverter beyond the vectors."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.errors import ConfigError, DataError
from headrace.api.record import SourceRecord
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.transforms.timestamp_converter import TimestampConverterValue

FORMAT = "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"
NOON = datetime.datetime(2024, 2, 29, 12, 0, 0, 5000, tzinfo=datetime.UTC)
MILLIS = 1709208000005
FORMS: dict[str, tuple[Schema, Any]] = {
    "string": (Schema.STRING, "2024-02-29T12:00:00.005Z"),
    "unix": (Schema.INT64, MILLIS),
    "Timestamp": (Schema.TIMESTAMP, NOON),
}


def convert(schema: Schema | None, value: Any, target: str, **config: str) -> tuple[Schema | None, Any]:
    transformation: TimestampConverterValue[SourceRecord] = TimestampConverterValue()
    transformation.configure({"target.type": target, "format": FORMAT, **config})
    record = SourceRecord({}, {}, "t")
    first = transformation.apply_to(record, schema, value)
    assert transformation.apply_to(record, schema, value) == first
    return first


@pytest.mark.parametrize("source", FORMS)
@pytest.mark.parametrize("target", FORMS)
def test_from_every_form_to_every_form(source: str, target: str) -> None:
    schema, value = FORMS[source]
    target_schema, expected = FORMS[target]
    assert convert(schema, value, target) == (target_schema, expected)
    assert convert(schema.replace(optional=True), None, target) == (target_schema.replace(optional=True), None)
    assert convert(None, value, target) == (None, expected)
    assert convert(None, {"t": value, "o": 1}, target, field="t") == (None, {"t": expected, "o": 1})
    struct = SchemaBuilder.struct().field("o", Schema.INT8).field("t", schema).build()
    found = convert(struct, Struct(struct, {"t": value, "o": 1}), target, field="t")
    wanted = SchemaBuilder.struct().field("o", Schema.INT8).field("t", target_schema).build()
    assert found == (wanted, Struct(wanted, {"t": expected, "o": 1}))


def test_parts_of_a_moment() -> None:
    assert convert(Schema.TIMESTAMP, NOON, "Date") == (Schema.DATE, datetime.date(2024, 2, 29))
    assert convert(Schema.TIMESTAMP, NOON, "Time") == (Schema.TIME, datetime.time(12, 0, 0, 5000))
    midnight = datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC)
    assert convert(Schema.DATE, datetime.date(2024, 2, 29), "Timestamp") == (Schema.TIMESTAMP, midnight)
    assert convert(Schema.TIME, datetime.time(1), "unix") == (Schema.INT64, 3_600_000)
    # Without a schema there is one type for all, as in Java.
    assert convert(None, NOON, "Date") == (None, midnight)
    assert convert(None, NOON, "Time") == (None, datetime.datetime(1970, 1, 1, 12, 0, 0, 5000, tzinfo=datetime.UTC))
    assert convert(None, datetime.date(2024, 2, 29), "unix") == (None, 1709164800000)


def test_a_naive_datetime_is_in_utc() -> None:
    assert convert(Schema.TIMESTAMP, NOON.replace(tzinfo=None), "unix") == (Schema.INT64, MILLIS)


@given(st.integers(-62_000_000_000_000, 253_000_000_000_000), st.sampled_from(["microseconds", "nanoseconds"]))
def test_unix_time_comes_back(millis: int, precision: str) -> None:
    _, fine = convert(None, millis, "unix")
    assert fine == millis
    at = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(milliseconds=millis)
    _, unix = convert(Schema.TIMESTAMP, at, "unix", **{"unix.precision": precision})
    units = {"microseconds": 1000, "nanoseconds": 1_000_000}[precision]
    if abs(millis * units) < 1 << 63:
        assert unix == millis * units
        assert convert(Schema.INT64, unix, "Timestamp", **{"unix.precision": precision}) == (Schema.TIMESTAMP, at)
    else:
        assert unix == ((1 << 63) - 1 if millis > 0 else -(1 << 63))


@pytest.mark.parametrize(
    ("schema", "value", "target", "message"),
    [
        (Schema.STRING, "no", "unix", r"value \(no\) does not match pattern"),
        (Schema.STRING, 5, "unix", "Expected a text for a moment, not int"),
        (Schema.INT64, True, "Timestamp", "Expected an integer for Unix time, not bool"),
        (Schema.TIMESTAMP, 5, "unix", "Expected a date or time, not int"),
        (Schema.FLOAT64, 5.0, "unix", "FLOAT64} is not the schema of a moment"),
        (Schema.FLOAT64, None, "unix", "FLOAT64} is not the schema of a moment"),
        (None, 5.0, "unix", "does not take float for a moment"),
        (Schema.INT64, 1 << 60, "Timestamp", "outside the years"),
        (Schema.INT64, 1 << 60, "Date", "outside the years"),
    ],
)
def test_what_is_no_moment(schema: Schema | None, value: Any, target: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        convert(schema, value, target)
    with pytest.raises(DataError, match=f"Cannot convert the field t: .*{message}"):
        if schema is None:
            convert(None, {"t": value}, target, field="t")
        else:
            struct = SchemaBuilder.struct().field("t", schema.replace(optional=True)).build()
            convert(struct, Struct.of_valid(struct, [value]), target, field="t")


def test_far_moments_can_be_text_and_unix_time() -> None:
    assert convert(Schema.INT64, 253402300800000, "string", format="yyyy-MM-dd") == (Schema.STRING, "10000-01-01")
    assert convert(Schema.STRING, "-0001-02-03", "unix", format="yyyy-MM-dd") == (Schema.INT64, -62196076800000)
    assert convert(Schema.INT64, -62167219200001, "string", format="G yyyy-MM-dd") == (Schema.STRING, "BC 0001-01-02")


def test_configurations_that_cannot_be() -> None:
    with pytest.raises(ConfigError, match="format: TimestampConverter needs it to write text"):
        convert(None, None, "string", format=" ")
    with pytest.raises(ConfigError, match=r"'bad' for configuration format: .*SimpleDateFormat: Illegal pattern"):
        convert(None, None, "unix", format="bad")
    with pytest.raises(ConfigError, match=r"target\.type"):
        convert(None, None, "date")
    with pytest.raises(DataError, match="needs format to read it"):
        convert(Schema.STRING, "2024", "unix", format="")
