# SPDX-License-Identifier: Apache-2.0
"""Whether something grows: a slope through samples, which outliers and a change of load do not move. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

WARM_UP: Final = 0.2
"""The share of a run that is not looked at: pools and caches fill, and code is imported when it is first needed."""
_SHORTEST: Final = 0.1


@dataclass(frozen=True, slots=True)
class Limit:
    """By what a quantity may seem to grow over a run: the greater of a share of its level and an amount."""

    name: str
    unit: str
    share: float
    amount: float

    def tolerance(self, level: float) -> float:
        return max(self.share * level, self.amount)


@dataclass(frozen=True, slots=True)
class Sample:
    """What was measured at `at` seconds. Only samples of the same `load` are compared with each other."""

    at: float
    load: Hashable
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Growth:
    """The first level of a quantity, and what its slope adds over the time looked at; None: not enough samples."""

    limit: Limit
    level: float
    amount: float | None

    @property
    def tolerance(self) -> float:
        return self.limit.tolerance(self.level)

    @property
    def right(self) -> bool:
        return self.amount is not None and self.amount <= self.tolerance


def growths(samples: Sequence[Sample], limits: Sequence[Limit], warm_up: float = WARM_UP) -> list[Growth]:
    """Return the growth of each quantity after the first share of the run."""
    if not samples:
        return [Growth(limit, 0.0, None) for limit in limits]
    begin = samples[0].at + warm_up * (samples[-1].at - samples[0].at)
    return [
        _growth([one for one in samples if one.at >= begin and limit.name in one.values], limit) for limit in limits
    ]


def _growth(samples: Sequence[Sample], limit: Limit) -> Growth:
    if not samples:
        return Growth(limit, 0.0, None)
    values = np.array([one.values[limit.name] for one in samples])
    times = np.array([one.at for one in samples])
    kinds = {load: number for number, load in enumerate(dict.fromkeys(one.load for one in samples))}
    rise = slope(times, values, np.array([kinds[one.load] for one in samples]))
    return Growth(
        limit,
        float(np.median(values[: -(-len(values) // 5)])),
        None if rise is None else rise * float(times[-1] - times[0]),
    )


def slope(times: np.ndarray, values: np.ndarray, kinds: np.ndarray) -> float | None:
    """Return the median of the slopes through each two samples of one kind (Theil and Sen), if there are any.

    Two that are close to each other say little, and are left out: less than a tenth of the time apart.
    """
    apart = times[None, :] - times[:, None]
    pairs = (kinds[None, :] == kinds[:, None]) & (apart > 0) & (apart >= _SHORTEST * (times[-1] - times[0]))
    rises = (values[None, :] - values[:, None])[pairs] / apart[pairs]
    return float(np.median(rises)) if rises.size else None
