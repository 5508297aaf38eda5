# SPDX-License-Identifier: Apache-2.0
"""Levels by the names that Kafka Connect's users know (those of log4j), as numbers of Python's ``logging``."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

TRACE: Final = 5
OFF: Final = logging.CRITICAL + 10
"""Above all that anybody logs."""

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
    """The name of the level that a user means, in any case, by Python's name too; None if there is none such."""
    name = text.upper()
    name = _PYTHONS.get(name, name)
    return name if name in _NUMBERS else None


def number_of(level: str) -> int:
    """What ``logging`` calls a level by one of our names."""
    return _NUMBERS[level]


def name_of(number: int) -> str:
    """The name of the most severe level that is no higher; numbers between two levels belong to the lower one."""
    return next((name for name, least in _NUMBERS.items() if number >= least), "ALL")
