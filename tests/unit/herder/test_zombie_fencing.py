# SPDX-License-Identifier: Apache-2.0
"""How many producers a round of zombie fencing has to fence (KIP-618)."""

from __future__ import annotations

import pytest

from headrace.herder.core.zombie_fencing import producers_to_fence
from headrace.model.cluster_config_state import ClusterConfigState


@pytest.mark.parametrize(
    ("before", "tasks", "fenced"),
    [
        (None, 3, 0),  # never had transactional tasks
        (0, 3, 0),
        (1, 1, 0),  # the one task fences its predecessor itself
        (1, 2, 1),
        (2, 1, 2),  # task 1 has no successor that would fence it
        (3, 3, 3),
    ],
)
def test_producers_to_fence(before: int | None, tasks: int, fenced: int) -> None:
    records = {} if before is None else {"c": before}
    config = ClusterConfigState(connector_configs={"c": {}}, task_counts={"c": tasks}, task_count_records=records)
    assert producers_to_fence(config, "c") == fenced
