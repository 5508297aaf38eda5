# SPDX-License-Identifier: Apache-2.0
"""`python -m bench.record_layer`: converters and transformations alone, on one core, without Kafka, Spark or Java.

All of it runs on one thread, so records per second are records per second of CPU time.
"""

from __future__ import annotations

import cProfile
import gc
import json
import os
import pstats
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bench.record_layer_cases import CASES, Case, Work
from headrace.api.errors import ConnectError

_PROFILED_LINES = 40


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds through all cases; the best of each case counts.")] = 30,
    records: Annotated[int, typer.Option(min=100, help="Records in a round, as many as in a batch.")] = 2_000,
    only: Annotated[list[str] | None, typer.Option(help="Measure only this case; repeatable.")] = None,
    profile: Annotated[bool, typer.Option(help="Show where the time goes in place of figures.")] = False,
    output: Annotated[Path | None, typer.Option("--json", help="Write every figure to this file.")] = None,
    strict: Annotated[bool, typer.Option(help="Exit with 1 when a target is missed.")] = False,
) -> None:
    """Measure records/s of the record layer and print a table with the targets."""
    console = Console()
    try:
        cases = _chosen(only)
        if profile:
            _profile(cases, records)
            return
        figures = _measure(cases, rounds, records)
    except (ConnectError, RuntimeError) as error:
        console.print(f"Error: {error}", style="red", markup=False)
        raise typer.Exit(1) from error
    met = _print_table(console, cases, figures)
    if output:
        best = {key: max(rates) for key, rates in figures.items()}
        output.write_text(json.dumps({"records": records, "best": best, "figures": figures}, indent=2) + "\n")
    if strict and not met:
        raise typer.Exit(1)


def _chosen(only: Sequence[str] | None) -> list[Case]:
    by_key = {case.key: case for case in CASES}
    for key in only or ():
        if key not in by_key:
            raise RuntimeError(f"Invalid value '{key}' for option --only: expected one of {', '.join(by_key)}")
    return [by_key[key] for key in only or by_key]


def _measure(cases: Sequence[Case], rounds: int, records: int) -> dict[str, list[float]]:
    """Records/s of each case in each round.

    One round goes through all cases, so that a busy moment of the machine does not hit all rounds of one case.
    """
    works = {case.key: case.prepare(records) for case in cases}
    figures: dict[str, list[float]] = {key: [] for key in works}
    for work in works.values():
        work()  # what is compiled once is compiled now
    for _ in range(rounds):
        for key, work in works.items():
            figures[key].append(records / _seconds(work))
    return figures


def _seconds(work: Work) -> float:
    """CPU time, so that what else the machine does counts little; and, as `timeit`, without the garbage collector."""
    gc.collect()
    gc.disable()
    try:
        began = time.process_time()
        work()
        return time.process_time() - began
    finally:
        gc.enable()


def _profile(cases: Sequence[Case], records: int) -> None:
    for case in cases:
        work = case.prepare(records)
        work()
        profiler = cProfile.Profile()
        profiler.runcall(work)
        print(f"== {case.label.strip()}: {records} records")
        pstats.Stats(profiler).sort_stats("tottime").print_stats(_PROFILED_LINES)


def _print_table(console: Console, cases: Sequence[Case], figures: dict[str, list[float]]) -> bool:
    """Print the best round of each case; whether no target was missed."""
    load = os.getloadavg()[0]
    table = Table(title=f"Record layer on one core, best of {len(next(iter(figures.values())))} (load {load:.1f})")
    for column in ("", "records/s", "µs/record", "target", ""):
        table.add_column(column, justify="left" if column == "" else "right")
    missed = False
    for case in cases:
        best = max(figures[case.key])
        met = case.target is None or best >= case.target
        missed = missed or not met
        target = "" if case.target is None else f"≥ {case.target:,.0f}"
        verdict = "" if case.target is None else "[green]met[/]" if met else "[red]missed[/]"
        table.add_row(case.label, f"{best:,.0f}", f"{1e6 / best:.2f}", target, verdict)
    console.print(table)
    return not missed


if __name__ == "__main__":
    typer.run(main)
