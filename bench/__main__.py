# SPDX-License-Identifier: Apache-2.0
"""`python -m bench`: headrace and Java Kafka Connect, one after the other, on the same broker."""

from __future__ import annotations

import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.status import Status

from bench import java_connect
from bench.engines import JSON_CONVERTER, STRING_CONVERTER, Engine, Headrace
from bench.measure import Bench, Latency, Throughput, write_lines
from bench.record_layer_chain import LINE_CHAIN, converted
from bench.report import IDLE_CONNECTORS, print_table
from headrace.api.errors import ConnectError
from headrace.kafka.embedded_broker import EmbeddedBroker

_BROKER_JVM_OPTIONS = ("-Xms1g", "-Xmx1g")
_POLL = {"transaction.boundary": "poll"}
_INTERVAL = {"transaction.boundary": "interval", "transaction.boundary.interval.ms": "1000"}

Figures = dict[str, list[float]]


class Part(StrEnum):
    """What can be measured alone."""

    THROUGHPUT = "throughput"
    CHAIN = "chain"
    FIRST_RECORD = "first-record"
    LINE = "line"
    VERIFIABLE = "verifiable"
    IDLE = "idle"


class Converter(StrEnum):
    STRING = "string"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    parts: tuple[Part, ...]
    lines: int
    chain_lines: int
    rounds: int
    latencies: int
    idle_s: float
    converter: str


def main(
    quick: Annotated[bool, typer.Option(help="One round with a fifth of the lines and shorter measurements.")] = False,
    only: Annotated[list[Part] | None, typer.Option(help="Measure only this; repeatable.")] = None,
    engine: Annotated[list[str] | None, typer.Option(help="`java` or `headrace`; both by default.")] = None,
    lines: Annotated[int | None, typer.Option(min=10_000, help="Lines of 100 bytes in the file.")] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="Rounds for each engine, alternating.")] = None,
    converter: Annotated[Converter, typer.Option(help="Of keys and values.")] = Converter.STRING,
    output: Annotated[Path | None, typer.Option("--json", help="Write every figure to this file.")] = None,
    strict: Annotated[bool, typer.Option(help="Exit with 1 when a target is missed.")] = False,
) -> None:
    """Measure headrace beside Java Kafka Connect and print a table with the targets."""
    plan = Plan(
        parts=tuple(only or Part),
        lines=lines or (200_000 if quick else 1_000_000),
        chain_lines=100_000 if quick else 300_000,
        rounds=rounds or (1 if quick else 2),
        latencies=100 if quick else 300,
        idle_s=10 if quick else 30,
        converter=JSON_CONVERTER if converter is Converter.JSON else STRING_CONVERTER,
    )
    console = Console()
    try:
        figures = _measure_all(plan, tuple(engine or ("java", "headrace")), console)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except (ConnectError, RuntimeError) as error:
        console.print(f"Error: {error}", style="red", markup=False)
        raise typer.Exit(1) from error
    met = print_table(console, figures["java"], figures["headrace"])
    if output:
        output.write_text(json.dumps({"lines": plan.lines, "rounds": plan.rounds, "figures": figures}, indent=2) + "\n")
    if strict and not met:
        raise typer.Exit(1)


def _measure_all(plan: Plan, names: tuple[str, ...], console: Console) -> dict[str, Figures]:
    kinds: dict[str, type[Engine]] = {kind.name: kind for kind in (java_connect.JavaConnect, Headrace)}
    if unknown := [name for name in names if name not in kinds]:
        raise RuntimeError(f"Invalid value '{unknown[0]}' for option --engine: expected one of {', '.join(kinds)}")
    figures: dict[str, Figures] = {name: defaultdict(list) for name in kinds}
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as temporary, console.status("") as status:
        directory = Path(temporary)
        if "java" in names:
            status.update("fetching Java Kafka Connect")
            java_connect.fetch(lambda jar: status.update(f"downloading {jar}"))
        write_lines(directory / "lines.txt", plan.lines)
        status.update("starting the broker")
        with EmbeddedBroker(directory / "broker", 0, jvm_options=_BROKER_JVM_OPTIONS) as broker:
            for number in range(plan.rounds):
                for name in names:
                    label = f"{name}, round {number + 1} of {plan.rounds}"
                    engine = kinds[name](broker.bootstrap_servers, directory / name, plan.converter)
                    bench = Bench(engine, broker.bootstrap_servers, directory)
                    _round(bench, plan, figures[name], partial(_progress, console, status, label))
    return figures


def _progress(console: Console, status: Status, label: str, what: str) -> None:
    """The machine's load stands beside each step: figures of a busy machine are worth little."""
    status.update(f"{label}: {what}")
    console.print(f"{label}: {what} (load {os.getloadavg()[0]:.1f})", highlight=False)


def _round(bench: Bench, plan: Plan, figures: Figures, progress: Callable[[str], None]) -> None:
    """Start the engine, warm it up, measure each part of the plan, stop it."""
    progress("start")
    figures["start_s"].append(bench.engine.start())
    try:
        progress("warm-up")
        _warm_up(bench, plan)
        for part in plan.parts:
            progress(part)
            _MEASURE[part](bench, plan, figures)
    finally:
        bench.engine.stop()


def _warm_up(bench: Bench, plan: Plan) -> None:
    """Let the JIT compile: half of the lines, or a few records where throughput is not measured."""
    for part, lines, properties in (
        (Part.THROUGHPUT, plan.lines // 2, _POLL),
        (Part.CHAIN, plan.chain_lines // 2, _POLL | LINE_CHAIN),
    ):
        if part in plan.parts:
            bench.throughput(write_lines(bench.directory / "warm-up.txt", lines), lines, properties)
    bench.create_to_first_record()


def _throughput(bench: Bench, plan: Plan, figures: Figures) -> None:
    for kind, boundary in (("poll", _POLL), ("interval", _INTERVAL)):
        measured: Throughput = bench.throughput(bench.directory / "lines.txt", plan.lines, boundary)
        figures[f"{kind}_rate"].append(measured.records_per_s)
        figures[f"{kind}_total_s"].append(measured.total_s)
        figures[f"{kind}_cpu_s"].append(measured.usage.cpu_s)
        figures[f"{kind}_rss_mb"].append(measured.usage.rss_mb)


def _chain(bench: Bench, plan: Plan, figures: Figures) -> None:
    file = write_lines(bench.directory / "chain.txt", plan.chain_lines)
    first = file.read_text().partition("\n")[0]
    measured = bench.throughput(file, plan.chain_lines, _POLL | LINE_CHAIN, converted(first))
    figures["chain_rate"].append(measured.records_per_s)
    figures["chain_total_s"].append(measured.total_s)
    figures["chain_cpu_s"].append(measured.usage.cpu_s)


def _first_record(bench: Bench, plan: Plan, figures: Figures) -> None:
    figures["first_record_s"] += [bench.create_to_first_record() for _ in range(3)]


def _line(bench: Bench, plan: Plan, figures: Figures) -> None:
    _add_latency(figures, "line", bench.line_latency(plan.latencies))


def _verifiable(bench: Bench, plan: Plan, figures: Figures) -> None:
    _add_latency(figures, "verifiable", bench.verifiable_latency(plan.latencies))


def _idle(bench: Bench, plan: Plan, figures: Figures) -> None:
    usage = bench.idle(IDLE_CONNECTORS, plan.idle_s)
    figures["idle_cpu_s_per_min"].append(usage.cpu_s * 60 / plan.idle_s)
    figures["idle_rss_mb"].append(usage.rss_mb)
    figures["idle_pss_mb"].append(usage.pss_mb)


def _add_latency(figures: Figures, kind: str, latency: Latency) -> None:
    figures[f"{kind}_p50_ms"].append(latency.p50)
    figures[f"{kind}_p95_ms"].append(latency.p95)
    figures[f"{kind}_p99_ms"].append(latency.p99)


_MEASURE: dict[Part, Callable[[Bench, Plan, Figures], None]] = {
    Part.THROUGHPUT: _throughput,
    Part.CHAIN: _chain,
    Part.FIRST_RECORD: _first_record,
    Part.LINE: _line,
    Part.VERIFIABLE: _verifiable,
    Part.IDLE: _idle,
}

if __name__ == "__main__":
    typer.run(main)
