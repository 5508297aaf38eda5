# SPDX-License-Identifier: Apache-2.0
"""Rebalances of a group of some size, by the simulation that measures large ones."""

from __future__ import annotations

import pytest

from bench.group_simulation import simulate
from headrace.distributed.group import incremental_cooperative_assignor


@pytest.mark.parametrize("seed", range(3))
def test_shares_are_even_and_no_more_moves_than_has_to(seed: int) -> None:
    outcomes = simulate(workers=15, connectors=120, tasks=5, events=40, seed=seed)
    assert len(outcomes) == 41
    assert max(each.group_bytes for each in outcomes) < 60_000


def test_a_group_without_balance_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incremental_cooperative_assignor, "surplus_work", lambda shares, work: {})
    with pytest.raises(AssertionError):
        simulate(workers=15, connectors=120, tasks=5, events=40, seed=0)
