# SPDX-License-Identifier: Apache-2.0
"""Records of a Java source task that Python asks for: converted as columns, the same as each by itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from headrace.api.errors import DataError
from headrace.api.record import SourceRecord
from headrace.api.schema import Schema
from headrace.java import polled_records
from headrace.java.data import java_schema
from headrace.java.jvm import java_class
from headrace.java.polled_records import PolledRecords
from headrace.java.records import java_source_record, python_source_record
from tests.java.connect_data import polled


@given(polled())
def test_records_as_columns(records: list[SourceRecord]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(polled_records, "WORTH_COLUMNS", 1)
        batch = java_list(map(java_source_record, records))
        converted = PolledRecords(batch)
        found = [*converted]
        assert repr([parts(each) for each in found]) == repr([parts(python_source_record(each)) for each in batch])


def test_two_of_a_large_batch_convert_all_and_one_does_not() -> None:
    batch = PolledRecords(java_list(map(java_source_record, numbered(50))))
    assert batch[3].value == 3
    assert [each.is_untouched for each in batch.all()].count(False) == 1
    assert batch[7].value == 7
    assert not any(each.is_untouched for each in batch.all())


def test_a_change_of_one_record_is_kept_and_headers_are_its_own() -> None:
    batch = PolledRecords(java_list(map(java_source_record, numbered(50))))
    batch[0].headers.add("seen", 1)
    batch[1].headers.add("seen", 2)
    assert [len(each.headers) for each in batch] == [1, 1, *[0] * 48]


def test_parts_that_python_can_hold_are_read_of_a_record_with_another() -> None:
    """Lineage asks for schemas."""
    year_10000 = java_class("java.util.Date")(253402300800000)
    schema = java_schema(Schema.TIMESTAMP)
    record = java_source_record(numbered(1)[0]).newRecord("t", None, None, None, schema, year_10000, None)
    (polled,) = PolledRecords(java_list([record]))
    assert (polled.topic, polled.value_schema, polled.has_headers) == ("t", Schema.TIMESTAMP, False)
    with pytest.raises(DataError):
        polled.value  # noqa: B018


def test_a_new_record_has_the_headers_of_one_that_was_not_looked_at() -> None:
    noted = numbered(1)[0]
    noted.headers.add("seen", 1)
    (record,) = PolledRecords(java_list([java_source_record(noted)]))
    other = record.new_record("other", None, None, None, None, "changed", None, None)
    assert (other.topic, other.value, [each.key for each in other.headers]) == ("other", "changed", ["seen"])


def test_a_part_of_a_batch_is_converted_as_columns_too() -> None:
    batch = PolledRecords(java_list(map(java_source_record, numbered(50))))
    first = batch[10]
    part = batch[10:40]
    assert [each.value for each in part] == [*range(10, 40)]
    assert part[0] is first


def test_of_records_that_cannot_be_converted_only_those_fail() -> None:
    polled = numbered(50)
    polled[20] = SourceRecord({}, {}, "t", value_schema=Schema.INT64, value=7)
    java = [java_source_record(each) for each in polled]
    java[20] = java[20].newRecord("t", None, None, None, None, java_class("java.lang.Object")(), None)
    batch = PolledRecords(java_list(java))
    for place, record in enumerate(batch):
        if place == 20:
            with pytest.raises(DataError, match="no type of Connect data"):
                record.value  # noqa: B018
        else:
            assert record.value == place


def parts(record: SourceRecord) -> tuple[Any, ...]:
    return (
        record.topic,
        record.kafka_partition,
        record.key_schema,
        record.key,
        record.value_schema,
        record.value,
        record.timestamp,
        record.headers,
        record.has_headers,
    )


def numbered(count: int) -> list[SourceRecord]:
    return [SourceRecord({}, {}, "t", value_schema=Schema.INT64, value=number) for number in range(count)]


def java_list(elements: Any) -> Any:
    made = java_class("java.util.ArrayList")()
    for each in elements:
        made.add(each)
    return made
