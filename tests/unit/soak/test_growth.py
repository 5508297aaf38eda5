# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from soak.growth import Limit, Sample, growths
from soak.measure import LIMITS

LEVELS = {"MB": 200.0, "kB": 2000.0, "bytes": 400.0, "": 40.0}
HOURS = 2
SECONDS = HOURS * 3600


def samples(limit: Limit, leak: float, seed: int = 0, count: int = 240) -> list[Sample]:
    """Grows by so many tolerances in the last 80 %; three loads, noise, a warm-up and some outliers."""
    chance = np.random.default_rng(seed)
    level = LEVELS[limit.unit]
    tolerance = limit.tolerance(level)
    made = []
    for at in np.linspace(0, SECONDS, count):
        load = int(chance.integers(3))
        value = level * (0.5 if at < 0.1 * SECONDS else 1.0) + 0.5 * tolerance * load
        value += leak * tolerance * max(0.0, at / SECONDS - 0.2) / 0.8
        value += chance.normal(0, 0.5 * tolerance) + (20 * tolerance if chance.random() < 0.05 else 0)
        made.append(Sample(float(at), load, {limit.name: value}))
    return made


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.name)
@pytest.mark.parametrize("seed", range(5))
def test_a_leak_of_a_little_more_than_the_tolerance_is_found(limit: Limit, seed: int) -> None:
    (growth,) = growths(samples(limit, 1.5, seed), [limit])
    assert not growth.right


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.name)
@pytest.mark.parametrize("leak", [-1.0, 0.0, 0.6])
def test_what_is_within_the_tolerance_is_right(limit: Limit, leak: float) -> None:
    assert all(growths(samples(limit, leak, seed), [limit])[0].right for seed in range(5))


def test_the_growth_is_that_of_the_time_looked_at() -> None:
    limit = Limit("files", "", 0.0, 5)
    (growth,) = growths([Sample(at, None, {"files": 100 + at / 10}) for at in range(101)], [limit])
    assert growth.amount == pytest.approx(8.0) and growth.level == pytest.approx(102.8) and not growth.right


def test_work_that_comes_late_is_no_leak() -> None:
    """More tasks in the second half: what each needs is no growth, and only samples of like loads are compared."""
    limit = Limit("fds", "", 0.0, 3)
    busy = [Sample(at, at > 500, {"fds": 40.0 + 30 * (at > 500)}) for at in range(0, 1000, 10)]
    assert growths(busy, [limit])[0].amount == 0
    assert growths([Sample(one.at, None, one.values) for one in busy], [limit])[0].amount != 0


def test_a_few_samples_of_a_process_that_stands_still_change_nothing() -> None:
    limit = Limit("rss", "MB", 0.05, 8)
    late = [Sample(at, None, {"rss": 900.0 if at in (96, 98) else 150.0}) for at in range(100)]
    assert growths(late, [limit])[0].amount == 0


def test_what_was_not_measured_is_not_right() -> None:
    limit = Limit("heap", "MB", 0.05, 4)
    assert not growths([], [limit])[0].right
    assert not growths([Sample(at, None, {"rss": 1.0}) for at in range(100)], [limit])[0].right
    assert not growths([Sample(at, at, {"heap": 1.0}) for at in range(100)], [limit])[0].right
