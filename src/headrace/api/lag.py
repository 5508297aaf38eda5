# SPDX-License-Identifier: Apache-2.0
"""The lag of a source task: how much of its source it has not read yet. Not in Java."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class LagUnit(Enum):
    """The unit that a lag is counted in."""

    RECORDS = "records"
    BYTES = "bytes"
    FILES = "files"


@dataclass(frozen=True, slots=True)
class Lag:
    """The lag of a source task, an integer ≥ 0 for each source partition, in one unit.

    A partition is named by a short text, such as a file or a table; at most 1,000 of them. It is shown to users, so
    that it must contain no secret.
    """

    unit: LagUnit
    partitions: Mapping[str, int]

    @property
    def total(self) -> int:
        """The sum over all partitions."""
        return sum(self.partitions.values())
