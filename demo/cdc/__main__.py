# SPDX-License-Identifier: Apache-2.0
"""`python -m demo.cdc [--keep]`: copy a table that changes, kill tasks and worker, compare what came."""

from __future__ import annotations

import json
import signal
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from demo.cdc.decoded import Place, Witness, places
from demo.cdc.shop import Shop
from demo.cluster import Cluster, wait_for
from demo.running import run_demo
from demo.verdict import Verdict, verdict
from headrace.java.store import PluginStore
from tests.support.processes import alive

SOURCE: Final = "shop"
SINK: Final = "orders-copy"
TOPIC: Final = "shop.public.orders"
PLUGINS: Final = tuple(f"io.debezium:debezium-connector-{name}:3.3.1.Final" for name in ("postgres", "jdbc"))
KILLS: Final = ("tasks", "worker", "tasks")
BETWEEN: Final = 400
"""Changes from one kill to the next."""
console = Console(highlight=False)


def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Keep everything running afterwards.")] = False,
) -> None:
    """Each change of a table once, and a copy that is equal, whatever is killed on the way."""

    def run() -> bool:
        with ExitStack() as stack:
            shop = stack.enter_context(Shop())
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headrace-demo-")))
            plugins = directory / "plugins"
            cluster = stack.enter_context(Cluster(directory, **{"plugin.path": str(plugins)}))
            right = _run(cluster, shop, plugins)
            if keep:
                _keep(cluster, shop)
            return right

    run_demo(console, run)


def _run(cluster: Cluster, shop: Shop, plugins: Path) -> bool:
    _start(cluster, shop, plugins)
    cluster.create(SOURCE, shop.config("source"))
    console.print(f"  connector {SOURCE}: table orders of database shop → topic {TOPIC}")
    wait_for(lambda: _count(cluster) >= 3, 120, "the table's first rows in the topic", pause=0.5)
    witness = Witness(shop.source, "dbz_publication")
    cluster.create(SINK, shop.config("sink"))
    console.print(f"  connector {SINK}: that topic → table orders of database warehouse")
    console.print("Changing orders at random …")
    with shop.changing():
        for victim in KILLS:
            _survive(cluster, shop, victim)
    console.print("Reading the topic, read_committed, and the log of the database …")
    expected = witness.changes()
    wait_for(lambda: len(_captured(cluster)) >= len(expected), 120, "all changes in the topic", pause=0.5)
    wait_for(lambda: shop.copied() == shop.orders(), 120, "the copy", pause=0.5)
    return _print(verdict(expected, _captured(cluster)), shop)


def _start(cluster: Cluster, shop: Shop, plugins: Path) -> None:
    console.print("Starting PostgreSQL …")
    shop.start()
    console.print(f"  databases shop and warehouse at {shop.address}")
    console.print("Starting a Kafka broker …")
    cluster.broker.start()
    console.print(f"  Kafka broker at {cluster.broker.bootstrap_servers}")
    console.print("Installing Debezium's connectors (downloaded once) …")
    for plugin in PLUGINS:
        PluginStore(plugins).install(plugin)
        console.print(f"  {plugin}")
    console.print("Starting a headrace worker (Spark starts behind it) …")
    cluster.start_worker()
    console.print(f"  REST API at {cluster.url}")


def _survive(cluster: Cluster, shop: Shop, victim: str) -> None:
    """Kill the tasks' processes, or the worker, and wait until changes that are made later are in the topic."""
    tasks = wait_for(lambda: _both(cluster), 120, "both tasks' processes")
    target = _count(cluster) + BETWEEN
    wait_for(lambda: _count(cluster) >= target, 120, "changes in the topic", pause=0.5)
    pids = ", ".join(str(task.pid) for task in tasks) if victim == "tasks" else str(cluster.worker_pid)
    name = "both tasks' processes" if victim == "tasks" else "the worker"
    console.print(f"  {shop.changes:6,} changes: killing {name} (SIGKILL, pid {pids})")
    killed = time.monotonic()
    if victim == "worker":
        cluster.kill_worker()
        cluster.start_worker()
    for task in tasks:
        if alive(task):
            task.kill()
    wait_for(lambda: not any(map(alive, tasks)), 30, "the end of the tasks' processes")
    before = _count(cluster)
    wait_for(lambda: _count(cluster) > before, 120, "changes to flow again", pause=0.2)
    console.print(f"                  changes flow again after {time.monotonic() - killed:.1f} s")


def _both(cluster: Cluster) -> list[Any]:
    running = [cluster.running(name) for name in (SOURCE, SINK)]
    tasks = cluster.task_processes()
    return tasks if all(running) and len(tasks) == 2 else []


def _count(cluster: Cluster) -> int:
    return len(cluster.values(TOPIC))


def _captured(cluster: Cluster) -> list[Place]:
    """Return the changes in the topic, in its order; the tombstones behind deletions are left out."""
    return places(json.loads(value)["payload"] for value in cluster.values(TOPIC) if value is not None)


def _print(result: Verdict, shop: Shop) -> bool:
    orders, copied = shop.orders(), shop.copied()
    table = Table(show_header=False, box=None, padding=(0, 2))
    rows = {
        "changes in the database's log": result.lines,
        "changes in the topic": result.records,
        "duplicates": result.duplicates,
        "losses": result.losses,
        "order violations": result.order,
        "orders in the shop": len(orders),
        "orders in the warehouse": len(copied),
        "orders that differ": len({tuple(row) for row in orders} ^ {tuple(row) for row in copied}),
    }
    for name, number in rows.items():
        table.add_row(name, f"[bold]{number:,}[/bold]")
    console.print(table)
    right = result.right and orders == copied
    good = "[green]Each change once, and the copy equals the table.[/green]"
    console.print(good if right else "[red]NOT each change once, or the copy differs.[/red]")
    return right


def _keep(cluster: Cluster, shop: Shop) -> None:
    psql = f"psql -h 127.0.0.1 -p {shop.server.port} -U headrace"
    console.print(f"""
Everything keeps running until Ctrl-C.
  Kafka broker   {cluster.broker.bootstrap_servers}
  REST API       {cluster.url}
  worker's log   {cluster.worker_log}
Try:
  {psql} shop -c "UPDATE orders SET amount = 1 WHERE id = (SELECT min(id) FROM orders)"
  {psql} warehouse -c "SELECT * FROM orders ORDER BY id LIMIT 3"
  curl -s {cluster.url}/connectors/{SOURCE}/status
  curl -s {cluster.url}/connectors/{SOURCE}/offsets""")
    signal.pause()


if __name__ == "__main__":
    typer.run(demo)
