# SPDX-License-Identifier: Apache-2.0
"""`python -m faults [--seconds S] [--seed N]`: a run of random faults; exit code 0 only if all is right."""

from __future__ import annotations

import json
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from faults.cluster import Cluster
from faults.plan import Kind, plan
from faults.run import Result, Run

console = Console(highlight=False, soft_wrap=True)


def faults(
    seconds: Annotated[float, typer.Option(help="How long faults come.")] = 120.0,
    seed: Annotated[int | None, typer.Option(help="Of the plan.", show_default="a random one")] = None,
    workers: Annotated[int, typer.Option(min=1)] = 3,
    tasks: Annotated[int, typer.Option(min=2, help="At most; as many source partitions.")] = 6,
    records: Annotated[int, typer.Option(help="At least so many have to come through.")] = 100_000,
    kind: Annotated[list[str] | None, typer.Option(help="Only these faults (KILL_TASK, ...); repeatable.")] = None,
    logs: Annotated[Path | None, typer.Option(help="Where logs go if something is wrong.")] = None,
    output: Annotated[Path | None, typer.Option("--json", help="Write the counts to this file.")] = None,
) -> None:
    """Kill, stop, cut and delay at random, and count what came through."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    chosen = random.randrange(1 << 16) if seed is None else seed
    kinds = tuple(Kind[name] for name in kind) if kind else tuple(Kind)
    planned = plan(chosen, seconds, kinds)
    console.print(
        f"Seed {chosen}: {len(planned.faults)} faults in {seconds:g} s, transaction.boundary={planned.boundary}"
    )
    with tempfile.TemporaryDirectory(prefix="headrace-faults-") as directory:
        began = time.monotonic()
        with Cluster(Path(directory), workers, tasks) as cluster:
            console.print(f"{workers} workers are up after {time.monotonic() - began:.0f} s")
            try:
                result = Run(cluster, tasks, console.print).run(planned, records)
            except AssertionError:
                _save(cluster, logs)
                raise
            if not result.right:
                _save(cluster, logs)
    _print(chosen, result)
    if output:
        counts = {"seed": chosen, "seconds": seconds, "workers": workers, "right": result.right, **_counts(result)}
        output.write_text(json.dumps(counts, indent=2) + "\n")
    raise typer.Exit(0 if result.right else 1)


def _save(cluster: Cluster, logs: Path | None) -> None:
    kept = logs or Path(tempfile.mkdtemp(prefix="headrace-faults-logs-"))
    cluster.save_logs(kept)
    console.print(f"The logs are in {kept}")


def _counts(result: Result) -> dict[str, object]:
    judgement = result.judgement
    return {
        "faults": {kind.value: result.done[kind] for kind in Kind if result.done[kind]},
        "records": judgement.records,
        "committed": judgement.committed,
        "aborted": judgement.aborted,
        "problems": len(judgement.problems),
    }


def _print(seed: int, result: Result) -> None:
    table = Table(show_header=False, box=None, padding=(0, 2))
    judgement = result.judgement
    for kind in Kind:
        done, missed = result.done[kind], result.missed[kind]
        if done or missed:
            table.add_row(kind.value, f"[bold]{done}[/bold]" + (f" ({missed} missed)" if missed else ""))
    rows = {
        "records": f"{judgement.records:,}",
        "transactions committed": f"{judgement.committed:,}",
        "transactions aborted": f"{judgement.aborted:,}",
        "producers that committed": f"{judgement.writers:,}",
        "longest pause of a partition": f"{judgement.longest_pause:.1f} s",
        "healed after the last fault in": f"{result.healed:.1f} s",
        "problems": f"{len(judgement.problems)}",
    }
    for name, value in rows.items():
        table.add_row(name, f"[bold]{value}[/bold]")
    console.print(table)
    for problem in judgement.problems:
        console.print(f"[red]  {problem}[/red]", markup=True)
    console.print(
        f"[green]Exactly once (seed {seed}, {result.done.total()} faults).[/green]"
        if result.right
        else f"[red]NOT right (seed {seed}).[/red]"
    )


if __name__ == "__main__":
    typer.run(faults)
