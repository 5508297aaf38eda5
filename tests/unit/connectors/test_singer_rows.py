# SPDX-License-Identifier: Apache-2.0
"""Headers that say which row a record is, and the rows that a task knows to be in its topics."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headrace.api.record import SourceRecord
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.api.source import CommittedRecord
from headrace.connectors.singer.row_headers import Row, committed_row, key_struct, row_headers, row_of
from headrace.connectors.singer.written_rows import WrittenRows
from headrace.converters.simple_header_converter import SimpleHeaderConverter

SOURCE = "shop/orders"
PARTS = {
    "id": (Schema.INT64, st.integers(-(1 << 63), (1 << 63) - 1)),
    "name": (Schema.STRING, st.text()),
    "flag": (Schema.BOOLEAN, st.booleans()),
    "rate": (Schema.FLOAT64, st.floats(allow_nan=False)),
    "amount": (SchemaBuilder.decimal(2).build(), st.decimals(-1000, 1000, places=2)),
    "at": (Schema.TIMESTAMP, st.datetimes(timezones=st.just(datetime.UTC))),
    "day": (Schema.DATE, st.dates()),
    "time": (Schema.TIME, st.times()),
}


def key_schema(*names: str) -> Schema:
    builder = SchemaBuilder.struct().name("orders.key")
    for name in names:
        builder.field(name, PARTS[name][0])
    return builder.build()


@given(st.fixed_dictionaries({name: values for name, (_, values) in PARTS.items()}), st.none() | st.integers(0, 9))
def test_a_row_is_found_again_by_the_headers_in_kafka(parts: dict[str, Any], version: int | None) -> None:
    schema = key_schema(*PARTS)
    key = Struct(schema, parts)
    record = SourceRecord(None, None, "t", value="x", headers=row_headers(SOURCE, key, version))
    source, row = row_of(record) or (None, None)
    assert (source, row and row.version, row and row.gone) == (SOURCE, version, False)
    converter = SimpleHeaderConverter()
    headers = [
        (each.key, converter.from_connect_header("t", each.key, each.schema, each.value)) for each in record.headers
    ]
    assert committed_row(CommittedRecord(b"k", b"v", tuple(headers)), SOURCE) == row
    assert committed_row(CommittedRecord(b"k", b"v", tuple(headers)), "shop/others") is None
    assert row is not None
    found = key_struct(schema, row.key)
    assert found is not None
    assert found == key
    for other in (key_schema("id"), key_schema("name", "id")):
        assert key_struct(other, row.key) is None


@pytest.mark.parametrize(("name", "part"), [("id", "5"), ("name", 5), ("day", "today"), ("amount", "x"), ("at", 7)])
def test_a_key_of_another_type_is_none(name: str, part: Any) -> None:
    assert (
        key_struct(key_schema(name), f'{{"{name}": {part if isinstance(part, int) else chr(34) + part + chr(34)}}}')
        is None
    )


def test_records_without_the_headers_are_no_rows() -> None:
    assert row_of(SourceRecord(None, None, "t", value="x")) is None
    assert committed_row(CommittedRecord(b"k", b"v"), SOURCE) is None
    headers = row_headers(SOURCE, Struct(key_schema("id"), {"id": 1}), 3)
    assert row_of(SourceRecord(None, None, "t", headers=headers)) == (SOURCE, Row('{"id": 1}', 3, True))


ROWS = st.lists(st.builds(Row, st.sampled_from("abc"), st.none() | st.integers(1, 3), st.booleans()), max_size=8)


@example([Row("a", 2, False)], [Row("a", 1, False)], [])
@example([Row("a", 2, False)], [Row("a", None, True)], [])
@given(ROWS, ROWS, ROWS)
def test_what_was_sent_is_newer_than_what_is_found(before: list[Row], found: list[Row], after: list[Row]) -> None:
    # No tombstone is sent before the topic is read.
    before = [row for row in before if not row.gone]
    with closing(WrittenRows()) as rows:
        rows.add_sent((SOURCE, row) for row in before)
        rows.add_sent([("other", Row("a", 7, False))])
        assert not rows.is_loaded(SOURCE)
        rows.load(SOURCE, found)
        assert rows.is_loaded(SOURCE)
        rows.add_sent((SOURCE, row) for row in after)
        expected: dict[str, int | None] = {}
        for row in (*found, *before, *after):
            expected.pop(row.key, None)
            if not row.gone:
                expected[row.key] = row.version
        for version in (1, 2, 3):
            assert list(rows.others(SOURCE, version)) == sorted(k for k, v in expected.items() if v != version)
        assert list(rows.others("other", 1)) == ["a"]


def test_many_rows_come_page_by_page_while_they_are_removed() -> None:
    with closing(WrittenRows()) as rows:
        rows.load(SOURCE, (Row(f"{number:05}", 1, False) for number in range(2500)))
        found = []
        for key in rows.others(SOURCE, 2):
            found.append(key)
            rows.add_sent([(SOURCE, Row(key, None, True))])
        assert found == [f"{number:05}" for number in range(2500)]
        assert list(rows.others(SOURCE, 2)) == []


def test_a_topic_that_cannot_be_read_is_not_loaded_and_forgotten_rows_are_read_again() -> None:
    def broken() -> Iterator[Row]:
        yield Row("a", 1, False)
        raise OSError

    with closing(WrittenRows()) as rows:
        with pytest.raises(OSError):
            rows.load(SOURCE, broken())
        assert not rows.is_loaded(SOURCE)
        rows.load(SOURCE, [Row("a", 2, False), Row("b", 1, False)])
        assert list(rows.others(SOURCE, 2)) == ["b"]
        rows.forget()
        assert not rows.is_loaded(SOURCE)
        assert list(rows.others(SOURCE, 2)) == []
