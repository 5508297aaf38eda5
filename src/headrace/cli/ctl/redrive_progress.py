# SPDX-License-Identifier: Apache-2.0
"""Follows a redrive of dead letters to its end, with a bar on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from headrace.cli.ctl.command import Session
from headrace.cli.ctl.ctl_error import CtlError, ExitCode

_INTERVAL_S: Final = 0.5
_RUNNING: Final = "RUNNING"
_DONE: Final = "COMPLETED"
_SHOWN: Final = ("passed", "redriven", "dropped", "failed", "redriven_before", "of_others", "kept")


def follow(session: Session, progress: str, job: Mapping[str, Any]) -> None:
    """Ask the worker at the path ``progress`` until ``job`` has ended. Raise CtlError unless it is completed."""
    id = job["id"]
    with _bar() as show:
        while job["state"] == _RUNNING:
            time.sleep(_INTERVAL_S)
            job = session.api.get(progress)
            if job["id"] != id:
                raise CtlError("Another redrive of the connector has begun on this worker", ExitCode.NOT_REACHED)
            show(job["counts"] or {})
    session.say(f"{job['state']}: {_text(job['counts'] or {})}")
    for failure in job["failures"]:
        session.say(f"Letter {failure}")
    if job["state"] != _DONE:
        raise CtlError(
            f"The {job['action']} is {job['state']}: {job['error']}",
            ExitCode.NOT_REACHED,
            "What it has not passed is pending: begin it again",
        )


def _text(counts: Mapping[str, int]) -> str:
    found = [f"{counts[name]} {name.replace('_', ' ')}" for name in _SHOWN if counts.get(name)]
    return ", ".join(found) or "nothing was pending"


@contextmanager
def _bar() -> Iterator[Callable[[Mapping[str, int]], None]]:
    """Yield a function that shows the counts, if a person sees them."""
    if not sys.stderr.isatty():
        yield lambda counts: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Dead letters", total=None)
        yield lambda counts: bar.update(task, total=counts.get("planned"), completed=counts.get("passed", 0))
