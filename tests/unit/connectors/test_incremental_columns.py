# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.errors import ConfigError, ConnectError
from headrace.connectors.common.incremental_columns import (
    IncrementalColumn,
    Kind,
    SqlFormatter,
    conditions,
    position_of,
)
from headrace.connectors.common.jdbc_text import Dialect

ID = IncrementalColumn("incrementing", "id", Kind.INTEGER)
CHANGED = IncrementalColumn("timestamp", "changed", Kind.LOCAL)
POSTGRES = SqlFormatter.jdbc(Dialect("postgresql"))
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
    column = IncrementalColumn("incrementing", "c", kind)
    value = column.encoded(values, 0)
    assert value == encoded
    assert column.checked(value) == value
    assert column.spark_literal(value) == spark
    assert column.jdbc_literal(Dialect("postgresql"), value) == jdbc


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_moment_keeps_the_digits_of_its_unit_before_1970_too(unit: str) -> None:
    column = IncrementalColumn("timestamp", "c", Kind.LOCAL)
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
        IncrementalColumn("incrementing", "c", kind).checked(value)


def test_the_present_is_what_the_columns_clock_shows() -> None:
    zone, moment = ZoneInfo("Europe/Berlin"), 1_767_225_600_000_001  # the first microsecond of 2026, UTC
    assert IncrementalColumn("timestamp", "c", Kind.MOMENT).at(moment, zone) == "2026-01-01T00:00:00.000001Z"
    assert IncrementalColumn("timestamp", "c", Kind.LOCAL).at(moment, zone) == "2026-01-01T01:00:00.000001"
    assert IncrementalColumn("timestamp", "c", Kind.DATE).at(moment, ZoneInfo("America/New_York")) == "2025-12-31"


@given(
    st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Antarctica/Troll", "UTC"]),
    st.sampled_from([datetime(2026, 10, 25), datetime(2026, 11, 1), datetime(2026, 4, 4), datetime(2026, 3, 29)]),
    st.integers(0, 86_400_000_000),
    st.integers(0, 6 * 3_600_000_000),
)
def test_no_clock_shows_later_what_is_before_its_present(zone: str, day: datetime, us: int, later: int) -> None:
    """Else rows of the hour that comes twice would be behind a position that is reached in its first pass."""
    moment = int(day.replace(tzinfo=UTC).timestamp()) * 1_000_000 + us
    column = IncrementalColumn("timestamp", "c", Kind.LOCAL)
    shown = datetime.fromtimestamp((moment + later) // 1_000_000, ZoneInfo(zone)).replace(tzinfo=None)
    shown += timedelta(microseconds=(moment + later) % 1_000_000)
    assert column.at(moment, ZoneInfo(zone)) <= shown.isoformat(timespec="microseconds")


def test_only_before_a_clock_is_set_back_its_present_stands_still() -> None:
    column, zone = IncrementalColumn("timestamp", "c", Kind.LOCAL), ZoneInfo("Europe/Berlin")

    def at(hour: int, minute: int) -> object:
        return column.at(int(datetime(2026, 10, 25, hour, minute, tzinfo=UTC).timestamp()) * 1_000_000, zone)

    # From three to two o'clock, at one UTC.
    assert at(0, 0) == at(0, 59) == at(1, 0) == "2026-10-25T02:00:00.000000"
    assert at(23, 59) == "2026-10-26T00:59:00.000000"
    assert at(1, 10) == "2026-10-25T02:10:00.000000"


@pytest.mark.parametrize(
    ("kind", "value", "following"),
    [
        (Kind.LOCAL, "2026-12-31T23:59:59.999999", "2027-01-01T00:00:00.000000"),
        (Kind.MOMENT, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000001Z"),
        (Kind.LOCAL, "9999-12-31T23:59:59.999999", None),
        (Kind.DATE, "2026-01-01", None),
        (Kind.INTEGER, 7, None),
    ],
)
def test_after_a_timestamp_comes_the_next_that_spark_distinguishes_from_it(
    kind: Kind, value: Any, following: str | None
) -> None:
    assert IncrementalColumn("timestamp", "c", kind).following(value) == following


def test_at_first_rows_with_nulls_are_left_out() -> None:
    assert conditions([ID], None, None, POSTGRES) == ['"id" IS NOT NULL']
    assert conditions([CHANGED, ID], None, BEFORE, POSTGRES) == [
        '"changed" IS NOT NULL',
        '"id" IS NOT NULL',
        "\"changed\" < '2026-01-01 00:00:09'",
    ]


def test_behind_a_position_comes_what_is_larger() -> None:
    assert conditions([ID], {"incrementing": 7}, None, POSTGRES) == ['"id" > 7']
    assert conditions([CHANGED], {"timestamp": "2026-01-01T00:00:01"}, BEFORE, SqlFormatter.spark()) == [
        "`changed` >= TIMESTAMP_NTZ'2026-01-01T00:00:01.000001'",
        f"`changed` < TIMESTAMP_NTZ'{BEFORE}'",
    ]


def test_two_columns_are_compared_as_a_tuple_with_a_range_that_an_index_serves() -> None:
    position = {"timestamp": "2026-01-01T00:00:01", "incrementing": 7}
    assert conditions([CHANGED, ID], position, BEFORE, POSTGRES) == [
        '"id" IS NOT NULL',
        "\"changed\" >= '2026-01-01 00:00:01'",
        '("changed" >= \'2026-01-01 00:00:01.000001\' OR "id" > 7)',
        "\"changed\" < '2026-01-01 00:00:09'",
    ]


def test_of_mysql_moments_are_texts_in_the_sessions_zone() -> None:
    seen = IncrementalColumn("timestamp", "seen", Kind.MOMENT)
    mysql = Dialect("mysql")
    assert (
        conditions([seen], None, "2026-01-01T00:00:09Z", SqlFormatter.jdbc(mysql))[1]
        == "`seen` < '2026-01-01 00:00:09'"
    )
    assert mysql.session["connectionTimeZone"] == "UTC"
    assert Dialect("postgresql").session == {}


def test_sparks_dialect_for_mariadb_is_that_of_mysql() -> None:
    mariadb = Dialect("mariadb")
    assert mariadb.url("jdbc:mariadb://h/d") == "jdbc:mysql://h/d?permitMysqlScheme=true"
    assert mariadb.url("jdbc:mariadb://h/d?a=b") == "jdbc:mysql://h/d?a=b&permitMysqlScheme=true"
    assert Dialect("mysql").url("jdbc:mysql://h/d") == "jdbc:mysql://h/d"


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
    assert dialect.name('a"b`') == name
    assert dialect.text("x\\'y") == text
    assert dialect.remainder(dialect.name('a"b`'), 4) == remainder
    assert dialect.limited("SELECT * FROM t", 9) == limited
