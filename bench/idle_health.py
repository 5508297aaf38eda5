# SPDX-License-Identifier: Apache-2.0
"""`python -m bench.idle_health CHECKOUT`: the CPU time of idle tasks here, compared with that of another checkout.

CHECKOUT is one of headrace from before health, or without anything else that idle tasks could be slower by. Both
workers run at once, on one broker, so that whatever else the machine does slows both. First no client asks for health;
then each connector's is requested once in so many seconds, of the worker of this checkout only.

Measured for ten tasks on a busy machine of two cores, against the commit before health: 1.81 and 1.80 CPU seconds a
minute if no client asks, a ratio of 1.006. Forty requests a minute cost 0.25 s, which is 6 ms each.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from bench.engines import Headrace
from bench.measure import file_source
from bench.processes import Usage, watched
from headrace.broker.embedded_broker import EmbeddedBroker

_HERE = Path(__file__).resolve().parents[1]
_SETTLING_S = 40.0
"""What has just been started is still busy."""


class Checkout(Headrace):
    """A worker of the sources in a directory."""

    def __init__(self, bootstrap_servers: str, directory: Path, sources: Path, group: str) -> None:
        super().__init__(bootstrap_servers, directory / group, group=group)
        self._sources = sources / "src"

    def command(self, properties: Path) -> list[str]:
        return ["env", f"PYTHONPATH={self._sources}", *super().command(properties)]


def main(
    other: Annotated[Path, typer.Argument(help="The checkout to compare with.")],
    tasks: int = 10,
    seconds: float = 60.0,
    every: Annotated[float, typer.Option(help="Seconds between two requests for the health of a connector.")] = 15.0,
) -> None:
    """Print CPU seconds a minute of both workers with all their processes, and their ratio."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headrace-bench-")))
        broker = stack.enter_context(EmbeddedBroker(port=0, jvm_options=("-Xms512m", "-Xmx512m"))).bootstrap_servers
        names = [f"idle-{number}" for number in range(tasks)]
        sources = {"other": other.resolve(), "here": _HERE}
        workers = {
            name: stack.enter_context(Checkout(broker, directory, path, f"bench-{name}"))
            for name, path in sources.items()
        }
        for worker in workers.values():
            _create_idle(worker, names, directory)
        time.sleep(_SETTLING_S)
        _print("no client asks for health", *_measured(workers, seconds))
        with _asking(workers["here"], names, every):
            _print(f"each asked for every {every:g} s", *_measured(workers, seconds))


def _create_idle(worker: Checkout, names: list[str], directory: Path) -> None:
    quiet = directory / "quiet.txt"
    quiet.touch()
    for name in names:
        worker.rest.create(name, file_source(quiet, f"{worker.group}-{name}"))
    for name in names:
        worker.rest.wait_running(name, timeout=180)


def _measured(workers: dict[str, Checkout], seconds: float) -> tuple[float, float]:
    """Return CPU seconds a minute, of the other checkout and of this one."""
    with watched(workers["other"].pid) as before, watched(workers["here"].pid) as now:
        time.sleep(seconds)
    return _per_minute(before, seconds), _per_minute(now, seconds)


def _per_minute(usage: Usage, seconds: float) -> float:
    return usage.cpu_s * 60 / seconds


@contextmanager
def _asking(worker: Checkout, names: list[str], every: float) -> Iterator[None]:
    over, unanswered = threading.Event(), list[str]()

    def ask() -> None:
        while not over.wait(every / len(names)):
            name = names.pop(0)
            names.append(name)
            if worker.rest.get(f"/connectors/{name}/health") is None:
                unanswered.append(name)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if unanswered:
        raise RuntimeError(f"no answers about the health of {unanswered}")


def _print(what: str, other: float, here: float) -> None:
    sys.stdout.write(f"{what:30} other {other:6.2f} here {here:6.2f} CPU s/min, ratio {here / other:.3f}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    typer.run(main)
