# SPDX-License-Identifier: Apache-2.0
"""Levels by the names that Kafka Connect's users know (those of log4j), as numbers of Python's ``logging``."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

TRACE: Final = 5
OFF: Final = logging.CRITICAL + 10
"""Above all levels of records."""

_NUMBERS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "OFF": OFF,
        "FATAL": logging.CRITICAL,
        "ERROR": logging.ERROR,
        "WARN": logging.WARNING,
        "INFO": logging.INFO,
        "DEBUG": logging.DEBUG,
        "TRACE": TRACE,
        "ALL": 1,
    }
)
_PYTHONS: Final = {"WARNING": "WARN", "CRITICAL": "FATAL"}


def level_of(text: str) -> str | None:
    """Return the level's name for a text in any case, Python's names included; None for no level."""
    name = text.upper()
    name = _PYTHONS.get(name, name)
    return name if name in _NUMBERS else None


def number_of(level: str) -> int:
    """Return the number that ``logging`` has for a level's name."""
    return _NUMBERS[level]


def name_of(number: int) -> str:
    """Return the name of the highest level not above ``number``."""
    return next((name for name, least in _NUMBERS.items() if number >= least), "ALL")
