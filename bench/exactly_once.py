# SPDX-License-Identifier: Apache-2.0
"""What exactly-once costs: the same connector on a worker with it and on one without it."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path

from bench.engines import Engine
from bench.measure import Bench, Throughput

RECORD_BYTES = 1024
RECORDS = 600_000
INTERVAL_MS = 100
_RUNS = 3
_PROPERTIES = {"transaction.boundary": "interval", "transaction.boundary.interval.ms": str(INTERVAL_MS)}


@dataclass(frozen=True, slots=True)
class Cost:
    """Medians with exactly-once (`on`) and without (`off`): records/s, and CPU seconds of the worker's processes."""

    on_rate: float
    off_rate: float
    on_cpu_s: float
    off_cpu_s: float

    @property
    def percent(self) -> float:
        """By how much it makes records/s fewer; below 0 it does not."""
        return 100 * (1 - self.on_rate / self.off_rate)

    @property
    def cpu_percent(self) -> float:
        """By how much it takes more CPU; of all figures this one suffers least from other load."""
        return 100 * (self.on_cpu_s / self.off_cpu_s - 1)


def cost(on: Engine, off: Engine) -> Cost:
    """One worker after the other, so that neither takes the other's processor; the first run of each warms it up."""
    off.more["exactly.once.source.support"] = "disabled"
    with_it, without = _measure(on, _PROPERTIES), _measure(off, {})
    return Cost(
        statistics.median(run.records_per_s for run in with_it),
        statistics.median(run.records_per_s for run in without),
        statistics.median(run.usage.cpu_s for run in with_it),
        statistics.median(run.usage.cpu_s for run in without),
    )


def _measure(engine: Engine, properties: dict[str, str]) -> list[Throughput]:
    file = engine.directory / "records.txt"
    with engine:
        _write(file)
        bench = Bench(engine, engine.bootstrap_servers, engine.directory)
        runs = [bench.throughput(file, RECORDS, properties) for _ in range(1 + _RUNS)]
    file.unlink()
    return runs[1:]


def _write(file: Path) -> None:
    filling = "x" * (RECORD_BYTES - 11)
    with file.open("w") as lines:
        lines.writelines(f"{number:010d}{filling}\n" for number in range(RECORDS))
