# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from headrace.model.deadline import Deadline


def test_remaining_never_falls_below_zero() -> None:
    now = [10.0]
    deadline = Deadline.after(2.0, lambda: now[0])
    now[0] = 11.5
    assert (deadline.remaining(), deadline.expired) == (0.5, False)
    now[0] = 12.0
    assert (deadline.remaining(), deadline.expired) == (0.0, True)
    now[0] = 20.0
    assert deadline.remaining() == 0.0
