# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from itertools import islice

from headrace.model.backoff import ExponentialBackoff


def test_waits_double_up_to_the_longest() -> None:
    backoff = ExponentialBackoff(0.25, 5.0)
    assert list(islice(backoff.pauses(), 7)) == [0.25, 0.5, 1.0, 2.0, 4.0, 5.0, 5.0]
    assert [backoff.after(failures) for failures in (0, 1, 3, 100_000)] == [0.0, 0.25, 1.0, 5.0]


def test_the_first_wait_is_no_longer_than_the_longest() -> None:
    assert ExponentialBackoff(0.3, 0.1).after(1) == 0.1


def test_another_factor() -> None:
    assert ExponentialBackoff(0.04, 300.0, factor=40.0).after(3) == 64.0
