# SPDX-License-Identifier: Apache-2.0
"""`python -m soak [--hours H] [--seed N]`: hours of faults and operations; exit code 0 only if all is right."""

from __future__ import annotations

import json
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from faults.cluster import Cluster
from faults.plan import Kind
from soak.growth import Growth, Sample
from soak.run import Outcome, Soak, temporary

console = Console(highlight=False, soft_wrap=True, markup=False)
_ROWS: Final = 240


def soak(
    hours: Annotated[float, typer.Option(help="How long faults and operations come.")] = 2.0,
    seed: Annotated[int | None, typer.Option(help="Of the plan.", show_default="a random one")] = None,
    workers: Annotated[int, typer.Option(min=2)] = 3,
    tasks: Annotated[int, typer.Option(min=2, help="At most; as many source partitions.")] = 6,
    logs: Annotated[Path | None, typer.Option(help="Where logs go if something is wrong.")] = None,
    output: Annotated[Path | None, typer.Option("--json", help="Write counts and samples to this file.")] = None,
) -> None:
    """Use a cluster for hours, with faults, and see whether something of it grows or is lost."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    chosen = random.randrange(1 << 16) if seed is None else seed
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        directory = Path(name)
        cluster = Cluster(directory, workers, tasks)
        for worker, place in zip(cluster.workers, temporary(directory, workers), strict=True):
            place.mkdir()
            worker.environment["TMPDIR"] = str(place)
        began = time.monotonic()
        with cluster:
            run = Soak(cluster, tasks, chosen, directory, console.print)
            console.print(f"Seed {chosen}: {workers} workers are up after {time.monotonic() - began:.0f} s")
            outcome = None
            try:
                outcome = run.run(hours * 3600)
            finally:
                if outcome is None or not outcome.right:
                    _save(cluster, logs)
                if output:
                    setting = {"seed": chosen, "hours": hours, "workers": workers, "tasks": tasks}
                    output.write_text(_text({**setting, **_counts(run, outcome)}))
    _print(outcome)
    raise typer.Exit(0 if outcome.right else 1)


def _save(cluster: Cluster, logs: Path | None) -> None:
    kept = logs or Path(tempfile.mkdtemp(prefix="headrace-soak-logs-"))
    cluster.save_logs(kept)
    console.print(f"The logs are in {kept}")


def _counts(run: Soak, outcome: Outcome | None) -> dict[str, Any]:
    counts: dict[str, Any] = {
        "right": outcome is not None and outcome.right,
        "operations": dict(sorted(run.operators.done.items())),
        "answers": dict(sorted(run.operators.answers.items())),
        "samples_missed": dict(run.watch.missed.most_common(10)),
        **_thinned(run.watch.samples),
    }
    if outcome is None:
        return {**counts, "problems": list(run.operators.problems)}
    judgement = outcome.result.judgement
    return {
        **counts,
        "faults": {kind.value: outcome.result.done[kind] for kind in Kind if outcome.result.done[kind]},
        "records": judgement.records,
        "committed": judgement.committed,
        "aborted": judgement.aborted,
        "problems": [*judgement.problems, *outcome.problems],
        "growth": {growth.limit.name: _row(growth) for growth in outcome.growths},
    }


def _row(growth: Growth) -> dict[str, Any]:
    return {
        "unit": growth.limit.unit,
        "level": round(growth.level, 1),
        "amount": None if growth.amount is None else round(growth.amount, 1),
        "tolerance": round(growth.tolerance, 1),
        "right": growth.right,
    }


def _thinned(samples: list[Sample]) -> dict[str, Any]:
    """Return at most so many rows of samples, each with its time in seconds first."""
    names = sorted({name for sample in samples for name in sample.values})
    every = -(-len(samples) // _ROWS) or 1
    rows = [[round(one.at), *(_rounded(one.values.get(name)) for name in names)] for one in samples[::every]]
    return {"columns": ["seconds", *names], "samples": rows}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1) if value < 1000 else round(value)


def _text(counts: dict[str, Any]) -> str:
    """Return JSON with a line for each sample."""
    samples = counts.pop("samples")
    rows = ",\n".join(f"    {json.dumps(row, separators=(',', ':'))}" for row in samples)
    return f'{json.dumps(counts, indent=2)[:-2]},\n  "samples": [\n{rows}\n  ]\n}}\n'


def _print(outcome: Outcome) -> None:
    table = Table("quantity", "level", "growth", "tolerance", "", box=None, padding=(0, 2))
    for growth in outcome.growths:
        amount = "not measured" if growth.amount is None else f"{growth.amount:+,.1f}"
        unit = growth.limit.unit
        level, tolerance = f"{growth.level:,.1f} {unit}", f"{growth.tolerance:,.1f} {unit}"
        table.add_row(growth.limit.name, level, amount, tolerance, "" if growth.right else "NOT right")
    console.print(table)
    judgement = outcome.result.judgement
    console.print(
        f"{judgement.records:,} records in {judgement.committed:,} transactions, {judgement.aborted:,} aborted; "
        f"{outcome.result.done.total()} faults"
    )
    for problem in (*judgement.problems, *outcome.problems):
        console.print(f"  {problem}")
    console.print("Right." if outcome.right else "NOT right.")


if __name__ == "__main__":
    typer.run(soak)
