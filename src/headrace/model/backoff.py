# SPDX-License-Identifier: Apache-2.0
"""The wait before something that failed is tried again, which grows with failures in a row."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_MOST_STEPS: Final = 64
"""More make no difference, and would end in a number too large."""


@dataclass(frozen=True, slots=True)
class ExponentialBackoff:
    """Seconds to wait after failures in a row: ``first``, then ``factor`` times as long each time, up to ``longest``.

    It does not wait by itself: most of those who do are woken up by a stop. Immutable.

    Java: ``org.apache.kafka.common.utils.ExponentialBackoff``.
    """

    first: float
    longest: float
    factor: float = 2.0

    def after(self, failures: int) -> float:
        """Return the seconds to wait after so many failures in a row, 0 after none."""
        if not failures:
            return 0.0
        return float(min(self.longest, self.first * self.factor ** min(failures - 1, _MOST_STEPS)))

    def pauses(self) -> Iterator[float]:
        """Return the waits after the first failure, after the second and so on, without limit."""
        return map(self.after, itertools.count(1))
