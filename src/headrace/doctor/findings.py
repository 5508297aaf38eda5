# SPDX-License-Identifier: Apache-2.0
"""The result of a check: findings, each with a level, and with what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class Level(str, Enum):
    """The levels of findings; only a problem prevents a worker from working as configured."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of a report: the ``found`` fact, and the ``remedy`` if there is something to do about it."""

    level: Level
    found: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The findings of one check."""

    check: str
    findings: tuple[Finding, ...]


def ok(found: str) -> Finding:
    """Return a finding about which nothing has to be done."""
    return Finding(Level.OK, found)


def warning(found: str, remedy: str) -> Finding:
    """Return a finding that may be intended, or becomes a problem later."""
    return Finding(Level.WARNING, found, remedy)


def problem(found: str, remedy: str) -> Finding:
    """Return a finding with which the worker does not start, or does not work as configured."""
    return Finding(Level.PROBLEM, found, remedy)


def has_problem(results: Iterable[CheckResult]) -> bool:
    """Return True if one of the findings is a problem."""
    return any(finding.level is Level.PROBLEM for result in results for finding in result.findings)


def counted(number: int, what: str) -> str:
    """Return a number with its noun, as in ``1 task`` and ``2 tasks``."""
    return f"{number} {what}{'' if number == 1 else 's'}"
