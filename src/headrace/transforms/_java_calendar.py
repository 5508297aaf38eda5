# SPDX-License-Identifier: Apache-2.0
"""Java's `GregorianCalendar` in UTC, lenient: Julian before 15 October 1582, Gregorian from then on.

Days are counted from 1970-01-01, years without a gap (0 is 1 BC). Weeks are those of the USA: they begin on Sunday, and
the first one is that of 1 January. Lenient means that months, days and hours beyond their range carry over.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from enum import IntEnum
from typing import Final

MILLIS_PER_DAY: Final = 86_400_000
_CUTOVER: Final = -141_427  # 1582-10-15
_CUTOVER_YEAR: Final = 1582
_EPOCH_YEAR: Final = 1970
_GREGORIAN_EPOCH: Final = 719_468
_JULIAN_EPOCH: Final = 719_470
_SUNDAY: Final = 1


class CalendarField(IntEnum):
    """The fields of a date; days of the week count from 1, Sunday, months from 0."""

    ERA = 0
    YEAR = 1
    MONTH = 2
    DAY_OF_MONTH = 3
    DAY_OF_WEEK = 4
    DAY_OF_YEAR = 5
    DAY_OF_WEEK_IN_MONTH = 6
    WEEK_OF_YEAR = 7
    WEEK_OF_MONTH = 8
    AM_PM = 9
    HOUR = 10
    HOUR_OF_DAY = 11
    MINUTE = 12
    SECOND = 13
    MILLISECOND = 14
    WEEK_YEAR = 15


F = CalendarField
Fields = Mapping[CalendarField, int]


@functools.lru_cache(maxsize=1024)
def civil(day: int) -> tuple[int, int, int]:
    """Return the year, month (1 to 12) and day of month of a day."""
    if day >= _CUTOVER:
        era, rest = divmod(day + _GREGORIAN_EPOCH, 146_097)
        year = (rest - rest // 1460 + rest // 36_524 - rest // 146_096) // 365
        in_year = rest - (365 * year + year // 4 - year // 100)
        year += era * 400
    else:
        rest = day + _JULIAN_EPOCH
        year = (4 * rest + 3) // 1461
        in_year = rest - (365 * year + year // 4)
    shifted = (5 * in_year + 2) // 153  # months since March
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year + (month <= 2), month, in_year - (153 * shifted + 2) // 5 + 1


def first_of_month(year: int, month: int, julian: bool) -> int:
    """Return the first day of a month (1 to 12) in one of the two calendars."""
    shifted = year - (month <= 2)
    days = 365 * shifted + shifted // 4 + (153 * (month - 3 if month > 2 else month + 9) + 2) // 5
    return days - _JULIAN_EPOCH if julian else days - shifted // 100 + shifted // 400 - _GREGORIAN_EPOCH


def first_of_year(year: int) -> int:
    """Return 1 January of a year."""
    return first_of_month(year, 1, julian=year <= _CUTOVER_YEAR)


def day_of_week(day: int) -> int:
    """Return the day of the week, from 1 for Sunday to 7 for Saturday."""
    return (day + 4) % 7 + 1


def on_or_before(day: int, wanted: int) -> int:
    """Return the last day up to `day` that is the day of the week `wanted`."""
    return day - (day_of_week(day) - wanted) % 7


def week_of(day: int, year: int) -> tuple[int, int]:
    """Return the week of a day of `year`, and the year that this week belongs to."""
    if day >= on_or_before(first_of_year(year + 1), _SUNDAY):
        return 1, year + 1
    return week_in_period(day, first_of_year(year)), year


def week_in_period(day: int, first: int) -> int:
    """Return the week of a day in a month or year that begins with the day `first`; the first week has number 1."""
    return (day - on_or_before(first, _SUNDAY)) // 7 + 1


def millis_of(fields: Fields) -> int:
    """Return the moment of `fields`, in ms. They are in the order of their setting, as later ones prevail."""
    stamps = {field: stamp for stamp, field in enumerate(fields, 1)}
    days, millis = divmod(_time_of_day(fields, stamps), MILLIS_PER_DAY)
    if stamps.get(F.WEEK_YEAR, 0) > stamps.get(F.YEAR, 0):
        return (days + _week_date(fields)) * MILLIS_PER_DAY + millis
    year = fields.get(F.YEAR, _EPOCH_YEAR)
    if fields.get(F.ERA, 1) == 0:
        year = 1 - year
    used = _date_fields(fields, stamps)
    gregorian = days + _day_of(used, year, julian=False)
    counted = F.DAY_OF_YEAR in used or F.WEEK_OF_YEAR in used
    in_julian = gregorian < _CUTOVER or year < _CUTOVER_YEAR or (year == _CUTOVER_YEAR and counted)
    day = days + _day_of(used, year, julian=True) if in_julian else gregorian
    return day * MILLIS_PER_DAY + millis


def _time_of_day(fields: Fields, stamps: Mapping[CalendarField, int]) -> int:
    hour_of_day = stamps.get(F.HOUR_OF_DAY, 0)
    best = max(hour_of_day, _together(stamps, F.HOUR, F.AM_PM)) or max(stamps.get(F.HOUR, 0), stamps.get(F.AM_PM, 0))
    if best == hour_of_day:
        hour = fields.get(F.HOUR_OF_DAY, 0)
    else:
        hour = fields.get(F.HOUR, 0) + 12 * fields.get(F.AM_PM, 0)
    seconds = (hour * 60 + fields.get(F.MINUTE, 0)) * 60 + fields.get(F.SECOND, 0)
    return seconds * 1000 + fields.get(F.MILLISECOND, 0)


def _together(stamps: Mapping[CalendarField, int], one: CalendarField, other: CalendarField) -> int:
    """Return the time when both fields were set; 0 if one was not."""
    return max(stamps[one], stamps[other]) if one in stamps and other in stamps else 0


def _week_date(fields: Fields) -> int:
    week, day = fields.get(F.WEEK_OF_YEAR, 1), fields.get(F.DAY_OF_WEEK, _SUNDAY)
    return on_or_before(first_of_year(fields[F.WEEK_YEAR]), _SUNDAY) + 7 * (week - 1) + day - 1


def _date_fields(fields: Fields, stamps: Mapping[CalendarField, int]) -> Fields:
    """Return the fields that determine the date, if they contradict each other (Java: `Calendar.selectFields`)."""
    at = {field: stamps.get(field, 0) for field in CalendarField}
    weekday = at[F.DAY_OF_WEEK]
    day_of_month = at[F.DAY_OF_MONTH]
    week_of_month = _together(stamps, F.WEEK_OF_MONTH, F.DAY_OF_WEEK)
    weekday_in_month = _together(stamps, F.DAY_OF_WEEK_IN_MONTH, F.DAY_OF_WEEK)
    week_of_year = _together(stamps, F.WEEK_OF_YEAR, F.DAY_OF_WEEK)
    best = max(day_of_month, week_of_month, weekday_in_month, at[F.DAY_OF_YEAR], week_of_year)
    if not best:
        week_of_month, week_of_year = at[F.WEEK_OF_MONTH], at[F.WEEK_OF_YEAR]
        weekday_in_month = max(at[F.DAY_OF_WEEK_IN_MONTH], weekday)
        best = max(week_of_month, weekday_in_month, week_of_year)
        if not best:
            best = day_of_month = at[F.MONTH]
    if best == day_of_month:
        chosen = [F.MONTH, F.DAY_OF_MONTH]
    elif (best == week_of_month and at[F.WEEK_OF_MONTH] >= at[F.WEEK_OF_YEAR]) or (
        best == weekday_in_month and at[F.DAY_OF_WEEK_IN_MONTH] >= at[F.WEEK_OF_YEAR]
    ):
        in_weeks = (
            at[F.WEEK_OF_MONTH] >= at[F.DAY_OF_WEEK_IN_MONTH]
            if week_of_month == weekday_in_month
            else best == week_of_month
        )
        chosen = [F.MONTH, F.DAY_OF_WEEK, F.WEEK_OF_MONTH if in_weeks else F.DAY_OF_WEEK_IN_MONTH]
    elif best == at[F.DAY_OF_YEAR]:
        chosen = [F.DAY_OF_YEAR]
    else:
        chosen = [F.DAY_OF_WEEK, F.WEEK_OF_YEAR]
    # The month is always included, with the first month as its default.
    return {field: fields.get(field, 0) for field in chosen if field in fields or field is F.MONTH}


def _day_of(used: Fields, year: int, julian: bool) -> int:
    """Return the day of the selected fields, in one of the two calendars."""
    carried, month = divmod(used.get(F.MONTH, 0), 12)
    first = first_of_month(year + carried, month + 1, julian)
    if F.MONTH not in used:
        if F.DAY_OF_YEAR in used:
            return first + used[F.DAY_OF_YEAR] - 1
        return _in_week(first, used, F.WEEK_OF_YEAR)
    if F.WEEK_OF_MONTH in used:
        return _in_week(first, used, F.WEEK_OF_MONTH)
    if F.DAY_OF_WEEK not in used and F.DAY_OF_WEEK_IN_MONTH not in used:
        return first + used.get(F.DAY_OF_MONTH, 1) - 1
    weekday, nth = used.get(F.DAY_OF_WEEK, _SUNDAY), used.get(F.DAY_OF_WEEK_IN_MONTH, 1)
    if nth >= 0:
        return on_or_before(first + 7 * nth - 1, weekday)
    following = first_of_month(year + carried + (month == 11), (month + 1) % 12 + 1, julian)
    return on_or_before(following + 7 * (nth + 1) - 1, weekday)


def _in_week(first: int, used: Fields, week: CalendarField) -> int:
    """Return a day of a numbered week of the period that begins with `first`."""
    start = on_or_before(first, _SUNDAY)
    weekday = (used.get(F.DAY_OF_WEEK, _SUNDAY) - _SUNDAY) % 7
    return start + weekday + 7 * (used.get(week, 1) - 1)


__all__ = [
    "MILLIS_PER_DAY",
    "CalendarField",
    "civil",
    "day_of_week",
    "first_of_month",
    "first_of_year",
    "millis_of",
    "week_in_period",
    "week_of",
]
