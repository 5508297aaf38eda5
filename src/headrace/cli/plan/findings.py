# SPDX-License-Identifier: Apache-2.0
"""Mistakes in files of connectors, with their lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any


class Level(Enum):
    """The weight of a finding: with an error, a worker refuses the connector, or would run another than is meant."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One mistake. ``key`` is a property; ``line`` is the property's or else the connector's, None if unknown."""

    message: str
    file: str
    line: int | None = None
    connector: str | None = None
    key: str | None = None
    level: Level = Level.ERROR

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        about = [f"connector {self.connector}"] if self.connector else []
        about += [self.key] if self.key else []
        return ": ".join(filter(None, (where, ", ".join(about), self.message)))

    @property
    def data(self) -> dict[str, Any]:
        """The finding for ``-o json``."""
        return {
            "level": self.level.value,
            "file": self.file,
            "line": self.line,
            "connector": self.connector,
            "property": self.key,
            "message": self.message,
        }


def in_order(findings: Iterable[Finding], shown: Callable[[str], str] = str) -> list[Finding]:
    """Return the findings by file and line, each once, with messages as ``shown`` returns them."""
    once = dict.fromkeys(replace(each, message=" ".join(shown(each.message).split())) for each in findings)
    return sorted(once, key=lambda each: (each.file, each.line or 0, each.connector or "", each.key or ""))


def has_errors(findings: Iterable[Finding]) -> bool:
    return any(each.level is Level.ERROR for each in findings)
