# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from headrace.api.errors import ConfigError, ConnectError
from headrace.connectors.growing_columns import GrowingColumn, Kind, Writing, conditions, position_of
from headrace.connectors.jdbc_text import Dialect

ID = GrowingColumn("incrementing", "id", Kind.INTEGER)
CHANGED = GrowingColumn("timestamp", "changed", Kind.LOCAL)
POSTGRES = Writing.jdbc(Dialect("postgresql"))
BEFORE = "2026-01-01T00:00:09"


@pytest.mark.parametrize(
    ("type", "kind"),
    [
        ("long", Kind.INTEGER),
        ("decimal(20,0)", Kind.DECIMAL),
        ("string", Kind.TEXT),
        ("varchar(10)", Kind.TEXT),
        ("date", Kind.DATE),
        ("timestamp", Kind.MOMENT),
        ("timestamp_ntz", Kind.LOCAL),
    ],
)
def test_what_a_column_of_sparks_holds(type: str, kind: Kind) -> None:
    assert Kind.of_spark("c", type) is kind


@pytest.mark.parametrize("type", ["double", "binary", {"type": "struct", "fields": []}])
def test_a_column_whose_values_cannot_be_kept_is_refused(type: object) -> None:
    with pytest.raises(ConfigError, match="Column c is of type"):
        Kind.of_spark("c", type)


MICROS = datetime(2026, 3, 1, 12, 0, 0, 123_456)


@pytest.mark.parametrize(
    ("kind", "values", "encoded", "spark", "jdbc"),
    [
        (Kind.INTEGER, pa.array([2**62 + 1]), 2**62 + 1, str(2**62 + 1), str(2**62 + 1)),
        (Kind.DECIMAL, pa.array([Decimal("-1.50")]), "-1.50", "-1.50BD", "-1.50"),
        (Kind.DECIMAL, pa.array([Decimal("0.0000001")]), "0.0000001", "0.0000001BD", "0.0000001"),
        (Kind.TEXT, pa.array(["O'Hara \\ é"]), "O'Hara \\ é", "'O\\'Hara \\\\ é'", "'O''Hara \\ é'"),
        (Kind.DATE, pa.array([date(2026, 3, 1)]), "2026-03-01", "DATE'2026-03-01'", "'2026-03-01'"),
        (
            Kind.LOCAL,
            pa.array([MICROS], pa.timestamp("us")),
            "2026-03-01T12:00:00.123456",
            "TIMESTAMP_NTZ'2026-03-01T12:00:00.123456'",
            "'2026-03-01 12:00:00.123456'",
        ),
        (
            Kind.MOMENT,
            pa.array([MICROS.replace(tzinfo=UTC)], pa.timestamp("us", "Europe/Berlin")),
            "2026-03-01T12:00:00.123456Z",
            "TIMESTAMP_LTZ'2026-03-01T12:00:00.123456Z'",
            "'2026-03-01 12:00:00.123456+00:00'",
        ),
    ],
)
def test_a_value_keeps_each_digit_on_its_way_into_an_offset_and_out_of_it(
    kind: Kind, values: pa.Array, encoded: object, spark: str, jdbc: str
) -> None:
    column = GrowingColumn("incrementing", "c", kind)
    value = column.encoded(values, 0)
    assert value == encoded
    assert column.checked(value) == value
    assert column.of_spark(value) == spark
    assert column.of_jdbc(Dialect("postgresql"), value) == jdbc


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_moment_keeps_the_digits_of_its_unit_before_1970_too(unit: str) -> None:
    column = GrowingColumn("timestamp", "c", Kind.LOCAL)
    assert (
        column.encoded(pa.array([-1], pa.timestamp(unit)), 0)
        == {
            "s": "1969-12-31T23:59:59",
            "ms": "1969-12-31T23:59:59.999",
            "us": "1969-12-31T23:59:59.999999",
            "ns": "1969-12-31T23:59:59.999999999",
        }[unit]
    )


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Kind.INTEGER, "1"),
        (Kind.INTEGER, True),
        (Kind.INTEGER, 1.5),
        (Kind.DECIMAL, 1),
        (Kind.DECIMAL, "1 OR 1=1"),
        (Kind.MOMENT, "2026-03-01T12:00:00.123456"),
        (Kind.LOCAL, "2026-03-01T12:00:00Z"),
        (Kind.LOCAL, "2026-03-01T12:00:00' OR ''='"),
        (Kind.DATE, "today"),
        (Kind.TEXT, None),
    ],
)
def test_an_offset_that_is_no_value_of_the_column_is_refused(kind: Kind, value: object) -> None:
    with pytest.raises(ConnectError, match="no value of column c"):
        GrowingColumn("incrementing", "c", kind).checked(value)


def test_the_present_is_what_the_columns_clock_shows() -> None:
    zone, moment = ZoneInfo("Europe/Berlin"), 1_767_225_600_000_001  # the first microsecond of 2026, UTC
    assert GrowingColumn("timestamp", "c", Kind.MOMENT).at(moment, zone) == "2026-01-01T00:00:00.000001Z"
    assert GrowingColumn("timestamp", "c", Kind.LOCAL).at(moment, zone) == "2026-01-01T01:00:00.000001"
    assert GrowingColumn("timestamp", "c", Kind.DATE).at(moment, ZoneInfo("America/New_York")) == "2025-12-31"


def test_at_first_rows_with_nulls_are_left_out() -> None:
    assert conditions([ID], None, None, POSTGRES) == ['"id" IS NOT NULL']
    assert conditions([CHANGED, ID], None, BEFORE, POSTGRES) == [
        '"changed" IS NOT NULL',
        '"id" IS NOT NULL',
        "\"changed\" < '2026-01-01 00:00:09'",
    ]


def test_behind_a_position_comes_what_is_larger() -> None:
    assert conditions([ID], {"incrementing": 7}, None, POSTGRES) == ['"id" > 7']
    assert conditions([CHANGED], {"timestamp": "2026-01-01T00:00:01"}, BEFORE, Writing.spark()) == [
        "`changed` > TIMESTAMP_NTZ'2026-01-01T00:00:01'",
        f"`changed` < TIMESTAMP_NTZ'{BEFORE}'",
    ]


def test_two_columns_are_compared_as_a_tuple_with_a_range_that_an_index_serves() -> None:
    position = {"timestamp": "2026-01-01T00:00:01", "incrementing": 7}
    assert conditions([CHANGED, ID], position, BEFORE, POSTGRES) == [
        '"id" IS NOT NULL',
        "\"changed\" >= '2026-01-01 00:00:01'",
        '("changed" > \'2026-01-01 00:00:01\' OR "id" > 7)',
        "\"changed\" < '2026-01-01 00:00:09'",
    ]


def test_a_position_is_of_the_modes_columns() -> None:
    assert position_of([ID], None) is None
    assert position_of([ID], {"incrementing": 7, "timestamp": None}) == {"incrementing": 7}
    with pytest.raises(ConnectError, match="holds timestamp, but this mode needs incrementing"):
        position_of([ID], {"timestamp": "2026-01-01T00:00:01"})


@pytest.mark.parametrize(
    ("url", "name", "text", "remainder", "limited"),
    [
        ("jdbc:postgresql://h/d", '"a""b`"', "'x\\''y'", 'ABS("a""b`" % 4)', "SELECT * FROM t LIMIT 9"),
        ("jdbc:mysql://h/d", '`a"b```', "'x\\\\''y'", 'ABS(`a"b``` % 4)', "SELECT * FROM t LIMIT 9"),
        ("jdbc:sqlserver://h", '"a""b`"', "'x\\''y'", 'ABS("a""b`" % 4)', "SELECT TOP 9 * FROM t"),
        (
            "jdbc:oracle:thin:@h",
            '"a""b`"',
            "'x\\''y'",
            'ABS(MOD("a""b`", 4))',
            "SELECT * FROM t FETCH FIRST 9 ROWS ONLY",
        ),
    ],
)
def test_databases_have_their_own_ways(url: str, name: str, text: str, remainder: str, limited: str) -> None:
    dialect = Dialect.of_url(url)
    assert dialect.driver is not None
    assert dialect.name('a"b`') == name
    assert dialect.text("x\\'y") == text
    assert dialect.remainder(dialect.name('a"b`'), 4) == remainder
    assert dialect.limited("SELECT * FROM t", 9) == limited
