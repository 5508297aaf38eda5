# SPDX-License-Identifier: Apache-2.0
"""Proof that runs of faults can fail: with one protection left out, they find what it prevents."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.cluster import Cluster
from faults.plan import Fault, Kind, Plan
from faults.run import Run

MUTATIONS = Path(__file__).parent / "mutations"
TASKS = 4
RUNS = 3


@pytest.mark.parametrize(
    ("mutation", "kind", "workers"),
    [
        ("no_fencing", Kind.STOP_WORKER, 2),
        ("no_read_to_end", Kind.STALE_OFFSETS, 1),
        ("no_go", Kind.LATE_CONFIGS, 3),
        ("no_task_count", Kind.RECREATE, 2),
    ],
)
def test_without_a_protection_a_run_finds_what_is_wrong(
    mutation: str, kind: Kind, workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Invariants 2, 3 and 4, one by one. What they prevent is a race, lost now and then: each run may find it."""
    monkeypatch.setenv("HEADRACE_TEST_MUTATIONS", mutation)
    monkeypatch.setenv("HEADRACE_TEST_DIRECTORY", str(tmp_path))
    planned = Plan("poll", (Fault(0.0, kind, target=0, choice=0, length=1.0),))
    problems: list[tuple[str, ...]] = []
    while not any("are not where they belong" in problem for run in problems for problem in run):
        assert len(problems) < RUNS, problems
        directory = tmp_path / f"run-{len(problems)}"
        directory.mkdir()
        with Cluster(directory, workers, TASKS, (MUTATIONS,)) as cluster:
            problems.append(Run(cluster, TASKS, print, patience=20).run(planned, records=0).judgement.problems)
        print(*problems[-1], sep="\n")
    assert (tmp_path / mutation).exists(), "the mutation was not made"
