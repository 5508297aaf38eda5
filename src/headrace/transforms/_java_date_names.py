# SPDX-License-Identifier: Apache-2.0
"""The names in dates in US English, and the names of common time zones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

_LONG_MONTHS: Final = ("January", "February", "March", "April", "May", "June", "July", "August", "September",
                       "October", "November", "December")  # fmt: skip
_LONG_DAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_SHORT_ERAS: Final = ("BC", "AD")
_LONG_ERAS: Final = ("Before Christ", "Anno Domini")
_HALVES: Final = ("AM", "PM")

UTC_SHORT: Final = "UTC"
UTC_LONG: Final = "Coordinated Universal Time"


def shown(letter: str, long: bool) -> Sequence[str]:
    """Return the names that a pattern letter formats; none for a letter of numbers."""
    match letter:
        case "G":
            return _LONG_ERAS if long else _SHORT_ERAS
        case "M" | "L":
            return _LONG_MONTHS if long else tuple(name[:3] for name in _LONG_MONTHS)
        case "E":
            return _LONG_DAYS if long else tuple(name[:3] for name in _LONG_DAYS)
        case "a":
            return _HALVES
    return ()


def _both(letter: str, first: int) -> Mapping[str, int]:
    """Return long and short names with their numbers."""
    return {name: first + n for long in (True, False) for n, name in enumerate(shown(letter, long))}


ERAS: Final = _both("G", 0)
MONTHS: Final = _both("M", 0)
WEEKDAYS: Final = _both("E", 1)
HALVES: Final = _both("a", 0)

# (name, abbreviation) of standard and of daylight time with minutes east of Greenwich. The order decides where an
# abbreviation has several meanings: CST is Chicago's, IST is Israel's.
_ZONES: Final = (
    (("Coordinated Universal Time", "UTC"), 0, ()),
    (("Pacific Standard Time", "PST"), -480, ("Pacific Daylight Time", "PDT")),
    (("Mountain Standard Time", "MST"), -420, ("Mountain Daylight Time", "MDT")),
    (("Central Standard Time", "CST"), -360, ("Central Daylight Time", "CDT")),
    (("Eastern Standard Time", "EST"), -300, ("Eastern Daylight Time", "EDT")),
    (("Hawaii-Aleutian Standard Time", "HST"), -600, ()),
    (("Alaska Standard Time", "AKST"), -540, ("Alaska Daylight Time", "AKDT")),
    (("Atlantic Standard Time", "AST"), -240, ("Atlantic Daylight Time", "ADT")),
    (("Newfoundland Standard Time", "NST"), -210, ("Newfoundland Daylight Time", "NDT")),
    (("Central European Standard Time", "CET"), 60, ("Central European Summer Time", "CEST")),
    (("Greenwich Mean Time",), 0, ()),
    (("Western European Standard Time", "WET"), 0, ("Western European Summer Time", "WEST")),
    (("Israel Standard Time", "IST"), 120, ("Israel Daylight Time", "IDT")),
    (("Japan Standard Time", "JST"), 540, ()),
    (("Eastern European Standard Time", "EET"), 120, ("Eastern European Summer Time", "EEST")),
    (("China Standard Time",), 480, ()),
    (("Moscow Standard Time", "MSK"), 180, ()),
    ((), 0, ("British Summer Time", "BST")),
    (("India Standard Time",), 330, ()),
    (("Hong Kong Standard Time", "HKT"), 480, ()),
    (("Korean Standard Time", "KST"), 540, ()),
    (("Singapore Standard Time", "SGT"), 480, ()),
    (("South Africa Standard Time", "SAST"), 120, ()),
    (("Australian Eastern Standard Time", "AEST"), 600, ("Australian Eastern Daylight Time", "AEDT")),
    (("New Zealand Standard Time", "NZST"), 720, ("New Zealand Daylight Time", "NZDT")),
)

ZONES: Final[Sequence[tuple[str, int, int]]] = tuple(
    [(name, minutes, 0) for standard, minutes, _ in _ZONES for name in standard]
    + [(name, minutes, 60) for _, minutes, daylight in _ZONES for name in daylight]
)
"""Name, minutes east of Greenwich in standard time, and minutes of daylight saving, in the order to try them."""
