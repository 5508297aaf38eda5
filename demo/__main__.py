# SPDX-License-Identifier: Apache-2.0
"""`python -m demo [--file F] [--keep]`: start everything, kill what can be killed, count what came out."""

from __future__ import annotations

import signal
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from demo.cluster import Cluster, DemoError, wait_for
from demo.running import run_demo
from demo.text import default_text, read_lines
from demo.verdict import Verdict, verdict
from tests.support.processes import alive

NAME = "demo"
TOPIC = "demo-lines"
# Where in the file something is killed, and what.
KILLS = ((0.15, "task"), (0.40, "spark"), (0.65, "task"))
console = Console(highlight=False)


def demo(
    file: Annotated[Path | None, typer.Option(help="Your own text file.", show_default="text found here")] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep everything running afterwards.")] = False,
) -> None:
    """A file goes into Kafka exactly once, whatever is killed on the way."""

    def run() -> bool:
        with tempfile.TemporaryDirectory(prefix="headrace-demo-") as directory, Cluster(Path(directory)) as cluster:
            right = _run(cluster, file, Path(directory))
            if keep:
                _keep(cluster)
            return right

    run_demo(console, run)


def _run(cluster: Cluster, file: Path | None, directory: Path) -> bool:
    text = _text(file, directory)
    console.print("Starting a Kafka broker …")
    cluster.broker.start()
    console.print(f"  Kafka broker at {cluster.broker.bootstrap_servers}")
    console.print("Starting a headrace worker (Spark starts behind it) …")
    cluster.start_worker()
    console.print(f"  REST API at {cluster.url}")
    config = {
        "connector.class": "FileStreamSource",
        "tasks.max": "1",
        "file": str(text),
        "topic": TOPIC,
        "batch.size": "1000",
        "exactly.once.support": "required",
    }
    cluster.create(NAME, config)
    console.print(f"  connector {NAME}: {text} → topic {TOPIC}")
    restarts, seconds = _flow(cluster, text.stat().st_size)
    console.print("Reading the topic, read_committed …")
    result = verdict(read_lines(text), cluster.values(TOPIC))
    _print(result, restarts, seconds)
    return result.right and restarts == len(KILLS)


def _text(file: Path | None, directory: Path) -> Path:
    if file is None:
        return default_text(directory / "text.txt")
    path = file.expanduser().resolve()
    try:
        with path.open("rb") as opened:
            opened.seek(-1, 2)
            if opened.read(1) not in b"\r\n":
                raise DemoError(f"FILE={file}: its last line does not end, so the connector would wait for its end")
    except OSError as error:
        raise DemoError(f"FILE={file}: {error.strerror or 'is empty'}") from error
    return path


def _flow(cluster: Cluster, size: int) -> tuple[int, float]:
    """Wait until all is committed, killing on the way; restarts survived and seconds that data took to flow."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("waiting for the first record", total=size)
        wait_for(lambda: cluster.running(NAME), 120, "the task to run")
        began = time.monotonic()
        restarts = sum(_survive(cluster, progress, bar, size, at, what) for at, what in KILLS)
        _advance(cluster, progress, bar, size, size)
        return restarts, time.monotonic() - began


def _survive(cluster: Cluster, progress: Progress, bar: TaskID, size: int, at: float, what: str) -> int:
    """Kill the task's process or Spark once ``at`` of the file is committed; 1 when a new process continues."""
    position = _advance(cluster, progress, bar, size, int(size * at))
    if position >= size:
        progress.console.print(f"  the file was through before the {what} could be killed")
        return 0
    task = wait_for(cluster.task_process, 60, "the task's process")
    victim = wait_for(cluster.jvm, 60, "Spark's JVM") if what == "spark" else task
    name = "Spark's JVM, executor and all" if what == "spark" else "the task's process"
    progress.console.print(f"  {position * 100 // size:3d} %: killing {name} (SIGKILL, pid {victim.pid})")
    killed = time.monotonic()
    victim.kill()
    wait_for(lambda: not alive(victim) and not alive(task), 30, "the end of the task's process")
    position = cluster.committed(NAME)
    wait_for(lambda: cluster.committed(NAME) > position or position >= size, 90, "data to flow again")
    progress.console.print(f"         data flows again after {time.monotonic() - killed:.1f} s")
    return 1


def _advance(cluster: Cluster, progress: Progress, bar: TaskID, size: int, target: int) -> int:
    position = 0

    def reached() -> bool:
        nonlocal position
        position = cluster.committed(NAME)
        progress.update(bar, completed=position, description="file → Kafka")
        return position >= target or (not cluster.running(NAME) and position >= size)

    wait_for(reached, 120, f"{target} of {size} bytes to be committed")
    return position


def _print(result: Verdict, restarts: int, seconds: float) -> None:
    table = Table(show_header=False, box=None, padding=(0, 2))
    rows = {
        "lines in the file": f"{result.lines:,}",
        "records in the topic": f"{result.records:,}",
        "duplicates": f"{result.duplicates:,}",
        "losses": f"{result.losses:,}",
        "order violations": f"{result.order:,}",
        "restarts survived": f"{restarts} of {len(KILLS)}",
        "records/s, restarts included": f"{result.records / seconds:,.0f}",
    }
    for name, value in rows.items():
        table.add_row(name, f"[bold]{value}[/bold]")
    console.print(table)
    right = result.right and restarts == len(KILLS)
    console.print(
        "[green]Exactly once.[/green]" if right else "[red]NOT exactly once, or not all kills survived.[/red]"
    )


def _keep(cluster: Cluster) -> None:
    console.print(f"""
Everything keeps running until Ctrl-C.
  Kafka broker   {cluster.broker.bootstrap_servers}
  REST API       {cluster.url}
  worker's log   {cluster.worker_log}
Try:
  curl -s {cluster.url}/connectors/{NAME}/status
  curl -s {cluster.url}/connectors/{NAME}/offsets
  curl -s -X PUT {cluster.url}/connectors/{NAME}/pause
  curl -s -X PUT {cluster.url}/connectors/{NAME}/resume
  curl -s {cluster.url}/connector-plugins
  curl -s -X DELETE {cluster.url}/connectors/{NAME}""")
    signal.pause()


if __name__ == "__main__":
    typer.run(demo)
