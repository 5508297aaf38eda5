# SPDX-License-Identifier: Apache-2.0
"""The figures of both engines beside each other, with the targets."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from bench.control_plane import JOINED, OFFSETS, RUNNING, STOPPED
from bench.postgres import ROWS as POSTGRES_ROWS

Figures = Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Target:
    """What headrace must reach: `text` for people, `met(java, headrace)` for the verdict."""

    text: str
    met: Callable[[float | None, float], bool | None]


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. `better` is `higher` or `lower`; `digits` after the point."""

    key: str
    label: str
    unit: str
    better: str = "lower"
    target: Target | None = None
    digits: int = 1


def at_most(limit: float, unit: str) -> Target:
    return Target(f"≤ {limit:g} {unit}", lambda java, ours: ours <= limit)


def at_least(limit: float, unit: str) -> Target:
    return Target(f"≥ {limit:g} {unit}", lambda java, ours: ours >= limit)


def times_faster(factor: float) -> Target:
    return Target(f"≥ {factor:g}× Java", lambda java, ours: None if java is None else ours >= factor * java)


def fraction_of_java(divisor: float) -> Target:
    return Target(f"≤ Java / {divisor:g}", lambda java, ours: None if java is None else ours <= java / divisor)


NO_MORE_THAN_JAVA = Target("≤ Java", lambda java, ours: None if java is None else ours <= java)


def _requests(what: str, done: str) -> tuple[Row, ...]:
    """How long the answer takes, and until what was asked for is done."""
    return (
        Row(f"{what}_p50_ms", f"{what} a connector, answer p50", "ms", target=NO_MORE_THAN_JAVA),
        Row(f"{what}_p95_ms", "  answer p95", "ms", target=NO_MORE_THAN_JAVA),
        Row(f"{what}_done_p50_ms", f"  {done}, p50", "ms", digits=0),
    )


IDLE_CONNECTORS = 10
ROWS = (
    Row("start_s", "worker ready after start", "s", digits=2),
    Row("poll_rate", "FileStreamSource, boundary poll", "records/s", "higher", times_faster(2), 0),
    Row("poll_cold_rate", "  first run of a worker", "records/s", "higher", digits=0),
    Row("poll_total_s", "  create to last record", "s", digits=2),
    Row("poll_cpu_s", "  CPU of the process tree", "CPU s"),
    Row("poll_rss_mb", "  highest RSS", "MB", digits=0),
    Row("interval_rate", "FileStreamSource, interval 1000 ms", "records/s", "higher", times_faster(3), 0),
    Row("interval_total_s", "  create to last record", "s", digits=2),
    Row("interval_cpu_s", "  CPU of the process tree", "CPU s"),
    Row("interval_rss_mb", "  highest RSS", "MB", digits=0),
    Row("chain_rate", "four transformations and JSON, poll", "records/s", "higher", times_faster(2), 0),
    Row("chain_cold_rate", "  first run of a worker", "records/s", "higher", digits=0),
    Row("chain_total_s", "  create to last record", "s", digits=2),
    Row("chain_cpu_s", "  CPU of the process tree", "CPU s"),
    Row("chain_interval_rate", "  interval 1000 ms", "records/s", "higher", times_faster(2), 0),
    Row("chain_interval_total_s", "  create to last record", "s", digits=2),
    Row("chain_interval_cpu_s", "  CPU of the process tree", "CPU s"),
    Row("sql_rate", "a query, or two transformations, and JSON", "records/s", "higher", times_faster(1.3), 0),
    Row("sql_total_s", "  create to last record", "s", digits=2),
    Row("sql_cpu_s", "  CPU of the process tree", "CPU s"),
    Row("sql_p50_ms", "single line through a query, p50", "ms", target=at_most(250, "ms")),
    Row("sql_p95_ms", "  p95", "ms"),
    Row("sql_p99_ms", "  p99", "ms"),
    Row("sink_rate", "FileStreamSink", "records/s", "higher", times_faster(4), 0),
    Row("sink_total_s", "  create to last line", "s", digits=2),
    Row("sink_cpu_s", "  CPU of the process tree", "CPU s"),
    Row("sink_rss_mb", "  highest RSS", "MB", digits=0),
    Row("sink_records_rate", "a plain SinkTask, record by record", "records/s", "higher", times_faster(0.5), 0),
    Row("sink_records_cpu_s", "  CPU of the process tree", "CPU s"),
    Row("sink_p50_ms", "record in topic to line in file, p50", "ms", target=NO_MORE_THAN_JAVA),
    Row("sink_p95_ms", "  p95", "ms"),
    Row("sink_p99_ms", "  p99", "ms"),
    Row("first_record_s", "create to first record", "s", target=at_most(0.15, "s"), digits=3),
    Row("line_p50_ms", "single line, p50", "ms", target=fraction_of_java(10)),
    Row("line_p95_ms", "single line, p95", "ms"),
    Row("line_p99_ms", "single line, p99", "ms", target=fraction_of_java(10)),
    Row("verifiable_p50_ms", "VerifiableSource, p50", "ms", target=at_most(10, "ms")),
    Row("verifiable_p95_ms", "VerifiableSource, p95", "ms"),
    Row("verifiable_p99_ms", "VerifiableSource, p99", "ms", target=at_most(40, "ms")),
    Row(
        "idle_cpu_s_per_min",
        f"{IDLE_CONNECTORS} idle connectors",
        "CPU s/min",
        target=at_most(1, "CPU s/min"),
        digits=2,
    ),
    Row("idle_rss_mb", "  RSS", "MB", digits=0),
    Row("idle_pss_mb", "  PSS", "MB", target=at_most(575, "MB"), digits=0),
    *_requests("create", "its task RUNNING"),
    *_requests("pause", "its task PAUSED"),
    *_requests("stop", "STOPPED, without tasks"),
    *_requests("delete", "gone"),
    Row(
        "start_ready_s",
        f"start with {STOPPED + RUNNING} connectors, {STOPPED} stopped: answers",
        "s",
        target=at_most(1.2, "s"),
        digits=2,
    ),
    Row("start_listed_s", "  all listed", "s", target=at_most(3, "s"), digits=2),
    Row("start_running_s", f"  {RUNNING} tasks RUNNING", "s", target=at_most(5, "s"), digits=2),
    Row("join_balanced_s", f"a worker joins another with {JOINED}: balanced", "s", target=at_most(3, "s"), digits=2),
    Row("join_running_s", "  what has moved RUNNING", "s", target=NO_MORE_THAN_JAVA, digits=2),
    Row("join_pause_s", "  longest pause of a task that moves", "s", digits=2),
    Row("join_disturbed", "  tasks that stay and were stopped", "tasks", target=at_most(0, "tasks"), digits=0),
    Row("exactly_once_rate", "1 KB records, exactly-once, interval 100 ms", "records/s", "higher", digits=0),
    Row("at_least_once_rate", "  without exactly-once", "records/s", "higher", digits=0),
    Row("exactly_once_cost", "  what exactly-once costs", "%", target=at_most(5, "%")),
    Row("exactly_once_cpu_cost", "  in CPU of the process tree", "%"),
    Row("executor_loss_s", "executor killed, until the next record", "s", target=at_most(3, "s"), digits=2),
    Row("postgres_rate", f"PostgreSQL, {POSTGRES_ROWS:,} rows, 1 task on 2 executors", "records/s", "higher", digits=0),
    Row("postgres_total_s", "  create to last record", "s", digits=2),
    Row("postgres_4_rate", "  4 tasks", "records/s", "higher", digits=0),
    Row("postgres_4_total_s", "  create to last record", "s", digits=2),
    Row("postgres_scaling", "  4 tasks over 1", "×", "higher", at_least(1.7, "×"), 2),
    Row("spark_parquet_rate", "SparkSink to Parquet; Java: FileStreamSink", "records/s", "higher", digits=0),
    Row("spark_parquet_total_s", "  create to last record", "s", digits=2),
    Row("spark_postgres_rate", "SparkSink to PostgreSQL; Java: FileStreamSink", "records/s", "higher", digits=0),
    Row("spark_postgres_total_s", "  create to last record", "s", digits=2),
    Row("java_file", "Java plugins: FileStreamSource, poll", "records/s", "higher", times_faster(1), 0),
    Row("java_mirror", "  MirrorSource", "records/s", "higher", times_faster(0.8), 0),
    Row("java_snapshot", "  Debezium PostgreSQL, snapshot", "records/s", "higher", times_faster(0.9), 0),
    Row("java_stream", "  Debezium PostgreSQL, changes", "records/s", "higher", times_faster(0.9), 0),
    Row("java_jdbc_sink", "  Debezium JDBC sink", "records/s", "higher", times_faster(0.8), 0),
    Row("java_first_record_s", "  create to first record", "s", target=at_most(3, "s"), digits=2),
    Row("java_task_mb", "  PSS of an idle connector with its task", "MB", digits=0),
    Row("offsets_read_s", f"start, and {OFFSETS:,} offset records read", "s", target=at_most(5, "s"), digits=2),
)


def print_table(console: Console, java: Figures, headrace: Figures) -> bool:
    """Print medians, with the best of several in brackets, side by side; return True if no target was missed."""
    table = Table(title="headrace beside Java Kafka Connect: median (best)")
    for column in ("", "Java", "headrace", "unit", "ratio", "target", ""):
        table.add_column(column, justify="left" if column in ("", "unit", "target") else "right")
    verdicts = []
    for row in ROWS:
        theirs, ours = _median(java, row.key), _median(headrace, row.key)
        if theirs is None and ours is None:
            continue
        verdict = row.target.met(theirs, ours) if row.target and ours is not None else None
        verdicts.append(verdict)
        table.add_row(
            row.label,
            _shown(java, row),
            _shown(headrace, row),
            row.unit,
            _ratio(row, theirs, ours),
            row.target.text if row.target else "",
            {None: "", True: "[green]met[/]", False: "[red]missed[/]"}[verdict],
        )
    console.print(table)
    return False not in verdicts


def _median(figures: Figures, key: str) -> float | None:
    values = figures.get(key)
    return statistics.median(values) if values else None


def _shown(figures: Figures, row: Row) -> str:
    values = figures.get(row.key)
    if not values:
        return "–"
    median, best = statistics.median(values), (max if row.better == "higher" else min)(values)
    shown = f"{median:,.{row.digits}f}"
    return shown if len(values) == 1 else f"{shown} ({best:,.{row.digits}f})"


def _ratio(row: Row, java: float | None, headrace: float | None) -> str:
    """How many times better (over 1) or worse headrace is."""
    if not java or not headrace:
        return ""
    return f"{headrace / java if row.better == 'higher' else java / headrace:.2f}×"
