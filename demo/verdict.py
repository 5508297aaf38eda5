# SPDX-License-Identifier: Apache-2.0
"""What came out against what went in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """``order`` counts the places at which the topic has another line than the file, when none is lost or doubled."""

    lines: int
    records: int
    duplicates: int
    losses: int
    order: int

    @property
    def right(self) -> bool:
        return self.lines == self.records and not (self.duplicates or self.losses or self.order)


def verdict(lines: Sequence[Hashable], values: Sequence[Hashable]) -> Verdict:
    """Compare a file's lines, or a table's changes, with those of a topic, place by place."""
    if list(lines) == list(values):
        return Verdict(len(lines), len(values), 0, 0, 0)
    expected, seen = Counter(lines), Counter(values)
    duplicates, losses = (seen - expected).total(), (expected - seen).total()
    order = sum(a != b for a, b in zip(lines, values, strict=False)) if not duplicates and not losses else 0
    return Verdict(len(lines), len(values), duplicates, losses, order)
