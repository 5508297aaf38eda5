# SPDX-License-Identifier: Apache-2.0
"""`python -m bench`: headrace and Java Kafka Connect, one after the other, on the same broker."""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import uuid
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

from bench import (
    control_plane,
    exactly_once,
    executor_loss,
    java_connect,
    java_plugins,
    postgres,
    sinks,
    spark_sinks,
    sql_steps,
)
from bench.conditions import conditions_now
from bench.engines import JSON_CONVERTER, STRING_CONVERTER, Engine, Headrace
from bench.measure import Bench, Latency, Throughput, write_lines
from bench.record_layer_chain import LINE_CHAIN, converted
from bench.report import IDLE_CONNECTORS, print_table
from bench.topics import temporary_topic
from headrace.api.errors import ConnectError
from headrace.broker.embedded_broker import EmbeddedBroker

_BROKER_JVM_OPTIONS = ("-Xms1g", "-Xmx1g")
_POLL = {"transaction.boundary": "poll"}
_INTERVAL = {"transaction.boundary": "interval", "transaction.boundary.interval.ms": "1000"}

_ENGINES: dict[str, type[Engine]] = {kind.name: kind for kind in (java_connect.JavaConnect, Headrace)}

Figures = dict[str, list[float]]


class Part(StrEnum):
    """What can be measured alone."""

    THROUGHPUT = "throughput"
    CHAIN = "chain"
    SQL = "sql"
    FIRST_RECORD = "first-record"
    LINE = "line"
    VERIFIABLE = "verifiable"
    IDLE = "idle"
    SINK = "sink"
    SINK_RECORDS = "sink-records"
    SINK_LATENCY = "sink-latency"
    REQUESTS = "requests"
    START = "start"
    JOIN = "join"
    OFFSETS = "offsets"
    EXACTLY_ONCE = "exactly-once"
    EXECUTOR_LOSS = "executor-loss"
    POSTGRES = "postgres"
    SPARK_SINK = "spark-sink"
    JAVA_PLUGINS = "java-plugins"


class Converter(StrEnum):
    STRING = "string"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    parts: tuple[Part, ...]
    lines: int
    chain_lines: int
    sql_lines: int
    rounds: int
    latencies: int
    requests: int
    idle_s: float
    converter: str


@dataclass(frozen=True, slots=True)
class _Own:
    """Two workers of one engine, in a group of their own, that a part starts and stops by itself."""

    first: Engine
    second: Engine
    plan: Plan
    progress: Callable[[str], None]


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
        chain_lines=100_000 if quick else 1_000_000,
        sql_lines=200_000 if quick else 1_000_000,
        rounds=rounds or (1 if quick else 3),
        latencies=100 if quick else 300,
        requests=10 if quick else 20,
        idle_s=10 if quick else 30,
        converter=JSON_CONVERTER if converter is Converter.JSON else STRING_CONVERTER,
    )
    console, conditions = Console(), conditions_now()
    figures: dict[str, Figures] = {name: defaultdict(list) for name in _ENGINES}
    try:
        _measure_all(plan, tuple(engine or _ENGINES), figures, console)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except (ConnectError, RuntimeError) as error:
        if any(figures.values()):
            print_table(console, figures["java"], figures["headrace"])
        console.print(f"Error: {error}", style="red", markup=False)
        raise typer.Exit(1) from error
    met = print_table(console, figures["java"], figures["headrace"])
    if output:
        results = {"lines": plan.lines, "rounds": plan.rounds, "conditions": conditions, "figures": figures}
        output.write_text(json.dumps(results, indent=2) + "\n")
    if strict and not met:
        raise typer.Exit(1)


def _measure_all(plan: Plan, names: tuple[str, ...], figures: dict[str, Figures], console: Console) -> None:
    if unknown := [name for name in names if name not in _ENGINES]:
        raise RuntimeError(f"Invalid value '{unknown[0]}' for option --engine: expected one of {', '.join(_ENGINES)}")
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
                    progress = partial(_progress, console, status, label)
                    make = partial(_ENGINES[name], broker.bootstrap_servers)
                    engine = make(directory / name, plan.converter)
                    _round(Bench(engine, broker.bootstrap_servers, directory), plan, figures[name], progress)
                    _own_workers(make, directory, plan, figures[name], progress)


def _progress(console: Console, status: Status, label: str, what: str) -> None:
    """The machine's load stands beside each step: figures of a busy machine are worth little."""
    status.update(f"{label}: {what}")
    console.print(f"{label}: {what} (load {os.getloadavg()[0]:.1f})", highlight=False)


def _round(bench: Bench, plan: Plan, figures: Figures, progress: Callable[[str], None]) -> None:
    """Start the engine, warm it up, measure each part of the plan that needs no more than that, stop it."""
    parts = [part for part in plan.parts if part in _MEASURE]
    if not parts:
        return
    progress("start of the worker")
    figures["start_s"].append(bench.engine.start())
    try:
        _cold(bench, plan, figures, progress)
        for part in parts:
            progress(part)
            _MEASURE[part](bench, plan, figures)
    finally:
        bench.engine.stop()


def _own_workers(
    make: Callable[..., Engine], directory: Path, plan: Plan, figures: Figures, progress: Callable[[str], None]
) -> None:
    """Measure the parts that start and stop workers, in a group of their own each."""
    for part in plan.parts:
        if part not in _MEASURE_STARTS:
            continue
        group = f"bench-{part}-{uuid.uuid4().hex[:8]}"
        workers = [make(directory / f"{group}-{number}", plan.converter, group) for number in range(2)]
        if part in _SPARK_ONLY and not isinstance(workers[0], Headrace):
            continue
        progress(part)
        _MEASURE_STARTS[part](_Own(workers[0], workers[1], plan, progress), figures)


def _cold(bench: Bench, plan: Plan, figures: Figures, progress: Callable[[str], None]) -> None:
    """Measure the first runs of a worker, which also let the JIT compile for those that follow."""
    for part, key, lines, properties in (
        (Part.THROUGHPUT, "poll_cold_rate", plan.lines, _POLL),
        (Part.CHAIN, "chain_cold_rate", plan.chain_lines, _POLL | LINE_CHAIN),
    ):
        if part in plan.parts:
            progress(f"{part}, cold")
            measured = bench.throughput(write_lines(bench.directory / "cold.txt", lines), lines, properties)
            figures[key].append(measured.records_per_s)
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
    expected = converted(file.read_text().partition("\n")[0])
    for kind, boundary in (("chain", _POLL), ("chain_interval", _INTERVAL)):
        measured = bench.throughput(file, plan.chain_lines, boundary | LINE_CHAIN, expected)
        figures[f"{kind}_rate"].append(measured.records_per_s)
        figures[f"{kind}_total_s"].append(measured.total_s)
        figures[f"{kind}_cpu_s"].append(measured.usage.cpu_s)


def _sql(bench: Bench, plan: Plan, figures: Figures) -> None:
    """Batches are what is polled in a second, or up to 50,000 records; single lines are batches of their own."""
    file, name = write_lines(bench.directory / "sql.txt", plan.sql_lines), bench.engine.name
    expected = sql_steps.converted(file.read_text().partition("\n")[0])
    for _ in range(2):  # the first lets the JIT compile
        measured = bench.throughput(file, plan.sql_lines, _INTERVAL | sql_steps.structs(name), expected)
    figures["sql_rate"].append(measured.records_per_s)
    figures["sql_total_s"].append(measured.total_s)
    figures["sql_cpu_s"].append(measured.usage.cpu_s)
    _add_latency(figures, "sql", bench.line_latency(plan.latencies, 0.3, _POLL | sql_steps.texts(name)))


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


def _requests(bench: Bench, plan: Plan, figures: Figures) -> None:
    file = bench.directory / "quiet.txt"
    file.touch()
    with temporary_topic(bench.bootstrap_servers, topic := f"requests-{uuid.uuid4().hex[:8]}"):
        times = control_plane.request_times(bench.engine.rest, file, topic, plan.requests)
    for what, values in times.items():
        cuts = statistics.quantiles(values, n=100, method="inclusive")
        figures[f"{what}_p50_ms"].append(cuts[49])
        figures[f"{what}_p95_ms"].append(cuts[94])


def _start(own: _Own, figures: Figures) -> None:
    times = control_plane.start_with_connectors(own.first)
    figures["start_ready_s"].append(times.ready)
    figures["start_listed_s"].append(times.listed)
    figures["start_running_s"].append(times.running)


def _join(own: _Own, figures: Figures) -> None:
    times = control_plane.join(own.first, own.second)
    figures["join_balanced_s"].append(times.balanced)
    figures["join_running_s"].append(times.running)
    figures["join_pause_s"].append(times.pause)
    figures["join_disturbed"].append(times.disturbed)


def _offsets(own: _Own, figures: Figures) -> None:
    figures["offsets_read_s"].append(control_plane.offsets_read(own.first))


def _exactly_once(own: _Own, figures: Figures) -> None:
    measured = exactly_once.cost(own.first, own.second)
    figures["exactly_once_rate"].append(measured.on_rate)
    figures["at_least_once_rate"].append(measured.off_rate)
    figures["exactly_once_cost"].append(measured.percent)
    figures["exactly_once_cpu_cost"].append(measured.cpu_percent)


def _executor_loss(own: _Own, figures: Figures) -> None:
    figures["executor_loss_s"] += executor_loss.seconds_until_next_record(own.first)


def _postgres(own: _Own, figures: Figures) -> None:
    measured = postgres.rates(own.first)
    figures["postgres_rate"].append(measured.one_task)
    figures["postgres_total_s"].append(measured.one_task_s)
    figures["postgres_4_rate"].append(measured.four_tasks)
    figures["postgres_4_total_s"].append(measured.four_tasks_s)
    figures["postgres_scaling"].append(measured.scaling)


def _spark_sink(own: _Own, figures: Figures) -> None:
    measured = spark_sinks.rates(own.first)
    figures["spark_parquet_rate"].append(measured.parquet)
    figures["spark_parquet_total_s"].append(measured.parquet_s)
    figures["spark_postgres_rate"].append(measured.postgres)
    figures["spark_postgres_total_s"].append(measured.postgres_s)


def _java_plugins(own: _Own, figures: Figures) -> None:
    for name, value in java_plugins.measure(own.first, own.plan.lines, own.progress):
        figures[f"java_{name}"].append(value)


def _sink(bench: Bench, plan: Plan, figures: Figures, kind: str = "sink", connector: str = sinks.FILE_SINK) -> None:
    with sinks.full_topic(bench.bootstrap_servers, plan.lines) as topic:
        sinks.throughput(bench, topic, plan.lines, connector)  # lets the JIT compile
        measured = sinks.throughput(bench, topic, plan.lines, connector)
    figures[f"{kind}_rate"].append(measured.records_per_s)
    figures[f"{kind}_total_s"].append(measured.total_s)
    figures[f"{kind}_cpu_s"].append(measured.usage.cpu_s)
    figures[f"{kind}_rss_mb"].append(measured.usage.rss_mb)
    if bench.engine.name == "java" and kind == "sink" and Part.SPARK_SINK in plan.parts:
        # Connect itself brings no sink like SparkSink: its plainest one stands beside it.
        figures["spark_parquet_rate"].append(measured.records_per_s)
        figures["spark_postgres_rate"].append(measured.records_per_s)


def _sink_records(bench: Bench, plan: Plan, figures: Figures) -> None:
    """Java's file sink is the plainest one there is."""
    connector = sinks.FILE_SINK if bench.engine.name == "java" else sinks.PLAIN_SINK
    _sink(bench, plan, figures, "sink_records", connector)


def _sink_latency(bench: Bench, plan: Plan, figures: Figures) -> None:
    _add_latency(figures, "sink", sinks.latency(bench, plan.latencies))


def _add_latency(figures: Figures, kind: str, latency: Latency) -> None:
    figures[f"{kind}_p50_ms"].append(latency.p50)
    figures[f"{kind}_p95_ms"].append(latency.p95)
    figures[f"{kind}_p99_ms"].append(latency.p99)


_MEASURE: dict[Part, Callable[[Bench, Plan, Figures], None]] = {
    Part.THROUGHPUT: _throughput,
    Part.CHAIN: _chain,
    Part.SQL: _sql,
    Part.FIRST_RECORD: _first_record,
    Part.LINE: _line,
    Part.VERIFIABLE: _verifiable,
    Part.IDLE: _idle,
    Part.SINK: _sink,
    Part.SINK_RECORDS: _sink_records,
    Part.SINK_LATENCY: _sink_latency,
    Part.REQUESTS: _requests,
}
_MEASURE_STARTS: dict[Part, Callable[[_Own, Figures], None]] = {
    Part.START: _start,
    Part.JOIN: _join,
    Part.OFFSETS: _offsets,
    Part.EXACTLY_ONCE: _exactly_once,
    Part.EXECUTOR_LOSS: _executor_loss,
    Part.POSTGRES: _postgres,
    Part.SPARK_SINK: _spark_sink,
    Part.JAVA_PLUGINS: _java_plugins,
}
_SPARK_ONLY = {Part.EXECUTOR_LOSS, Part.POSTGRES, Part.SPARK_SINK}

if __name__ == "__main__":
    typer.run(main)
