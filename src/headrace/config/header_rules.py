# SPDX-License-Identifier: Apache-2.0
"""Rules of ``response.http.headers.config`` (KIP-577)."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import Final

from headrace.api.errors import ConfigError

_ACTIONS: Final = {action.lower(): action for action in ("set", "add", "setDate", "addDate")}


@dataclass(frozen=True, slots=True)
class HeaderRule:
    """One header of all answers. ``replaces``: it replaces other headers of its name.

    ``date``: the value is the time so many milliseconds after the answer.
    """

    replaces: bool
    date: bool
    name: str
    value: str


def header_rules(name: str, text: str) -> list[HeaderRule]:
    """Parse rules, separated by commas; one with a comma in it is in double quotes. Raise ConfigError if malformed."""
    if not text.strip():
        return []
    if not (text.isascii() and text.isprintable()):
        raise ConfigError.invalid(name, text, "headers hold printable characters of ASCII alone")
    return [_rule(name, entry.strip(), text) for entry in next(csv.reader([text], skipinitialspace=True))]


def _rule(property: str, entry: str, text: str) -> HeaderRule:
    first, _, header = entry.partition(" ")
    action = _ACTIONS.get(first.lower())
    name, colon, value = (part.strip() for part in header.partition(":"))
    if action is None:
        raise ConfigError.invalid(property, text, f"'{entry}' begins with none of {', '.join(_ACTIONS.values())}")
    if not colon or not name or " " in name:
        raise ConfigError.invalid(property, text, f"'{entry}' is not written as {action} name:value")
    date = action.endswith("Date")
    if date and not value.removeprefix("-").isdecimal():
        raise ConfigError.invalid(property, text, f"'{entry}' needs milliseconds for its value")
    return HeaderRule(action.startswith("set"), date, name, value)
