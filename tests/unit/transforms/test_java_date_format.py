# SPDX-License-Identifier: Apache-2.0
"""SimpleDateFormat beyond the vectors: against Python's calendar, and its quick reading against the complete one."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headrace.transforms import _java_calendar as calendar
from headrace.transforms._java_date_format import JavaDateFormat

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
CUTOVER = datetime.date(1582, 10, 15).toordinal() - datetime.date(1970, 1, 1).toordinal()
MILLIS = st.integers(-62_000_000_000_000, 253_000_000_000_000)
# The finest unit and whether the pattern is one for the quick way.
PATTERNS = [
    ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", 1, True),
    ("yyyyMMddHHmmssSSS", 1, True),
    ("dd/MMM/yyyy:HH:mm:ss Z", 1000, True),
    ("EEE, dd MMMM yyyy hh:mm:ss a", 1000, True),
    ("d.M.yyyy H:m", 60_000, True),
    ("yyyy-DDD", 86_400_000, False),
    ("YYYY-'W'ww-u HH:mm:ss", 1000, False),
    ("G yyyy MM dd kk:mm z", 60_000, False),
    ("yyyy MM W E", 86_400_000, False),
    ("yyyy MM F E", 86_400_000, False),
    ("MMM d yyyy K:mm:ss a zzzz", 1000, False),
]


def millis(*fields: int) -> int:
    return (datetime.datetime(*fields, tzinfo=datetime.UTC) - EPOCH) // datetime.timedelta(milliseconds=1)  # type: ignore[misc,arg-type]


@pytest.mark.parametrize(("pattern", "unit", "quick"), PATTERNS)
@given(MILLIS)
@example(0)
@example(-1)
@example(CUTOVER * 86_400_000)
@example(CUTOVER * 86_400_000 - 1)
def test_what_is_written_reads_back(pattern: str, unit: int, quick: bool, moment: int) -> None:
    compiled = JavaDateFormat(pattern)
    if calendar.civil(moment // 86_400_000)[0] == 1582 and not {"d"} & set(pattern):
        return  # weeks and days of the year of the change are counted in one calendar only
    text = compiled.format(moment)
    assert (compiled._quick is not None) is quick
    assert compiled.parse(text) == compiled._read(text) == moment - moment % unit
    assert compiled.format(moment - moment % compiled.step) == text


@given(st.integers(CUTOVER, 2_900_000))
def test_the_calendar_is_pythons_after_its_change(day: int) -> None:
    date = datetime.date.fromordinal(day + datetime.date(1970, 1, 1).toordinal())
    assert calendar.civil(day) == (date.year, date.month, date.day)
    assert calendar.first_of_month(date.year, date.month, julian=False) + date.day - 1 == day
    assert calendar.day_of_week(day) == date.isoweekday() % 7 + 1


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("yyyy-MM-dd", "2024-13-45", (2025, 2, 14)),  # lenient
        ("yyyy-MM-dd HH:mm", "2023-02-31 25:61", (2023, 3, 4, 2, 1)),
        ("yyyy-MM-dd", "2024-02-29 and more", (2024, 2, 29)),
        ("yyyy-MM-dd", "  2024- 02-\t29", (2024, 2, 29)),
        ("yyyy-MM-dd", "2024-02--1", (2024, 1, 30)),
        ("yyyy-MM-dd", "24-02-29", (24, 2, 27)),  # the year 24, of the Julian calendar
        ("yyyyMMdd", "20240229", (2024, 2, 29)),
        ("yyMMdd", "240229", (2024, 2, 29)),
        ("dd MMM yyyy", "01 sEp 2024", (2024, 9, 1)),
        ("dd MMM yyyy", "01 September 2024", (2024, 9, 1)),
        ("EEE yyyy-MM-dd", "Mon 2024-02-29", (2024, 2, 29)),  # a wrong weekday does no harm
        ("HH:mm", "05:06", (1970, 1, 1, 5, 6)),
        ("hh:mm a", "12:30 am", (1970, 1, 1, 0, 30)),
        ("hh:mm a", "12:30 PM", (1970, 1, 1, 12, 30)),
        ("yyyy-MM-dd HH:mm Z", "2024-02-29 01:02 GMT+1:30", (2024, 2, 28, 23, 32)),
        ("yyyy-MM-dd HH:mm z", "2024-02-29 01:02 GMT", (2024, 2, 29, 1, 2)),
        ("yyyy-MM-dd HH:mm z", "2024-07-29 01:02 Central European Summer Time", (2024, 7, 28, 23, 2)),
        ("yyyy-MM-dd HH:mmX", "2024-02-29 01:02-0330", (2024, 2, 29, 4, 2)),  # one X: hours only
        ("yyyy-MM-dd HH:mmXX", "2024-02-29 01:02-0330", (2024, 2, 29, 4, 32)),
        ("yyyy-'W'ww", "2024-W10", (2024, 3, 3)),
        ("yyyy.MM.dd '%d'", "2024.02.29 %d", (2024, 2, 29)),
    ],
)
def test_what_java_reads(pattern: str, text: str, expected: tuple[int, ...]) -> None:
    assert JavaDateFormat(pattern).parse(text) == millis(*expected)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyy-MM-dd", ""),
        ("yyyy-MM-dd", "2024-02"),
        ("yyyy-MM-dd", "2024-02-"),
        ("yyyy-MM-dd", "2024/02/29"),
        ("yyyyMMdd", "2024022"[:6]),
        ("dd MMM yyyy", "01 Foo 2024"),
        ("HH:mmX", "01:02+25"),
        ("HH:mmXXX", "01:02+0100"),
        ("HH:mm z", "01:02 NOWHERE"),
        ("", "anything"),
    ],
)
def test_what_java_does_not_read(pattern: str, text: str) -> None:
    with pytest.raises(ValueError, match="does not match pattern"):
        JavaDateFormat(pattern).parse(text)


@pytest.mark.parametrize("pattern", ["qqq", "yyyy'", "XXXX", "bad"])
def test_wrong_patterns(pattern: str) -> None:
    with pytest.raises(ValueError, match="pattern"):
        JavaDateFormat(pattern)


def test_years_of_two_digits_are_near_now() -> None:
    short = JavaDateFormat("dd/MM/yy", now=datetime.datetime(2024, 6, 15, tzinfo=datetime.UTC))
    assert short.parse("14/06/44") == millis(2044, 6, 14)
    assert short.parse("16/06/44") == millis(1944, 6, 16)
    assert short.parse("01/01/43") == millis(2043, 1, 1)
    assert short.parse("01/01/45") == millis(1945, 1, 1)
    assert short.parse("01/01/2045") == millis(2045, 1, 1)


def test_written() -> None:
    shown = JavaDateFormat("G GGGG yy yyyyy M MMM MMMM L E EEEE D F w W u a k K h Z X z zzzz 'o''o' 100%")
    assert shown.format(millis(2024, 12, 31, 12)) == (
        "AD Anno Domini 24 02024 12 Dec December 12 Tue Tuesday 366 5 1 5 2 PM 12 0 12 +0000 Z UTC"
        " Coordinated Universal Time o'o 100%"
    )
