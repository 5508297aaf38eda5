# SPDX-License-Identifier: Apache-2.0
"""A short run of `make faults`, on two workers."""

from __future__ import annotations

from pathlib import Path

from faults.cluster import Cluster
from faults.plan import plan
from faults.run import Run

SEED, SECONDS, TASKS, RECORDS = 0, 40.0, 4, 20_000


def test_random_faults(tmp_path: Path) -> None:
    with Cluster(tmp_path, workers=2, partitions=TASKS) as cluster:
        result = Run(cluster, TASKS, print).run(plan(SEED, SECONDS), RECORDS)
    assert result.judgement.problems == ()
    assert result.judgement.records >= RECORDS
    assert result.done.total() >= 5
