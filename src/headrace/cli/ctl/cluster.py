# SPDX-License-Identifier: Apache-2.0
"""`headrace cluster`: the workers that run connectors and tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import typer

from headrace.cli.ctl.command import Session, command
from headrace.cli.ctl.output import Output, View
from headrace.cli.ctl.statuses import NONE, Json, parts

_PARTS = ("connectors", "tasks", "failed")


def add_cluster_command(app: typer.Typer) -> None:
    """Add the command to ``app``: it is no group."""
    command(app, "cluster", "headrace cluster", "headrace cluster --context production -o json", output=True)(cluster)


def cluster(session: Session) -> None:
    """Show the workers, and how much each runs. A worker that runs nothing is not in any status, nor here."""
    about = session.api.get("/")
    found = session.api.get("/connectors", expand="status")
    workers: dict[str, Counter[str]] = {}
    for worker, kind in _runs(found):
        workers.setdefault(worker, Counter())[kind] += 1
    rows = [(worker, *(str(counts[part]) for part in _PARTS)) for worker, counts in sorted(workers.items())]
    data: dict[str, Any] = {
        **about,
        "workers": {row[0]: {part: workers[row[0]][part] for part in _PARTS} for row in rows},
    }
    if session.output is Output.TABLE:
        own = f" (headrace {about['headrace_version']})" if "headrace_version" in about else ""
        cluster_id = about.get("kafka_cluster_id") or NONE
        session.say(f"Kafka Connect {about.get('version') or NONE}{own}, Kafka cluster {cluster_id}")
    session.show(View(data, [row[0] for row in rows], ("WORKER", *map(str.upper, _PARTS)), rows))


def _runs(found: Json) -> Iterator[tuple[str, str]]:
    """Yield the worker of each connector and task with the kind of part that it counts as."""
    for known in found.values():
        for number, (_, part) in enumerate(parts(known.get("status", {}))):
            worker = part.get("worker_id") or "(unassigned)"
            yield worker, _PARTS[min(number, 1)]
            if part.get("state") == "FAILED":
                yield worker, "failed"
