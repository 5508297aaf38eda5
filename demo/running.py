# SPDX-License-Identifier: Apache-2.0
"""What all demos do alike: run to an exit code, and change something again and again meanwhile."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

from demo.cluster import DemoError
from headrace.api.errors import ConnectError


def run_demo(console: Console, run: Callable[[], bool]) -> None:
    """Run a demo, which returns True if all was right. Raise typer.Exit with its exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        right = run()
    except (DemoError, ConnectError) as error:
        console.print(f"[red]{error}[/red]")
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        console.print("Interrupted: everything is stopped.")
        raise typer.Exit(130) from None
    raise typer.Exit(0 if right else 1)


@contextmanager
def repeating(act: Callable[[], None], pause: float) -> Iterator[None]:
    """Call `act` again and again meanwhile, `pause` seconds after each call. An error of it is raised at the end."""
    ended, errors = threading.Event(), list[Exception]()

    def repeat() -> None:
        try:
            while not ended.wait(pause):
                act()
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    for error in errors:
        raise error
