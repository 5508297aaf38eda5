# SPDX-License-Identifier: Apache-2.0
"""`headrace cluster` and `headrace tasks`: the workers, and the tasks that they run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from headrace.cli.ctl.command import Connector, Session, command
from headrace.cli.ctl.ctl_error import CtlError, ExitCode
from headrace.cli.ctl.output import Output, View
from headrace.cli.ctl.rest_api import path
from headrace.cli.ctl.statuses import NONE, Json, parts, reason

_PARTS = ("connectors", "tasks", "failed")
_REPORTED = ("ROLE", "CONFIG LAG", "VERSION", "NO ANSWER")
tasks = typer.Typer(name="tasks", help="Tasks of a connector: list, show and restart them.", no_args_is_help=True)

Task = Annotated[int, typer.Argument(help="The task's number, from 0 on.", show_default=False, min=0)]


def add_cluster_command(app: typer.Typer) -> None:
    """Add the command to ``app``: it is no group."""
    command(app, "cluster", "headrace cluster", "headrace cluster --context production -o json", output=True)(cluster)


def cluster(session: Session) -> None:
    """Show the workers, and how much each runs; of headrace's also idle ones and the lag behind the config topic."""
    about = session.api.get("/")
    runs = Counter(_runs(session.api.get("/connectors", expand="status")))
    found = session.api.find("/workers") or {}  # Java's workers have no such answer
    reported = _reported(found)
    names = sorted({worker for worker, _ in runs} | reported.keys())
    counts = {worker: {part: runs[worker, part] for part in _PARTS} for worker in names}
    data: dict[str, Any] = {**about, "workers": counts}
    if found:
        data["reports"] = found
    if session.output is Output.TABLE:
        own = f" (headrace {about['headrace_version']})" if "headrace_version" in about else ""
        cluster_id = about.get("kafka_cluster_id") or NONE
        session.say(f"Kafka Connect {about.get('version') or NONE}{own}, Kafka cluster {cluster_id}")
    unknown = ("", NONE, NONE, "") if found else ()
    rows = [(worker, *map(str, counts[worker].values()), *reported.get(worker, unknown)) for worker in names]
    headings = ("WORKER", *map(str.upper, _PARTS), *(_REPORTED if found else ()))
    session.show(View(data, names, headings, rows))


def _reported(found: Json) -> dict[str, tuple[str, ...]]:
    """Return what the table has of each worker's report, or of why there is none."""
    silent = {worker: ("", NONE, NONE, why) for worker, why in found.get("missing", {}).items()}
    return silent | {
        each["worker_id"]: ("leader" if each["leader"] else "", str(each["config_lag"]), each["version"], "")
        for each in found.get("workers", ())
    }


def _runs(found: Json) -> Iterator[tuple[str, str]]:
    """Yield the worker of each connector and task with the kind of part that it counts as."""
    for known in found.values():
        for number, (_, part) in enumerate(parts(known.get("status", {}))):
            worker = part.get("worker_id") or "(unassigned)"
            yield worker, _PARTS[min(number, 1)]
            if part.get("state") == "FAILED":
                yield worker, "failed"


@command(tasks, "ls", "headrace tasks ls orders", "headrace tasks ls orders -o json", output=True)
def list_tasks(session: Session, connector: Connector) -> None:
    """List a connector's tasks with their states."""
    found = session.api.get(path("connectors", connector, "status"))["tasks"]
    rows = [
        (
            str(task["id"]),
            task["state"],
            task.get("worker_id") or NONE,
            reason(task["trace"]) if task.get("trace") else "",
        )
        for task in found
    ]
    names = [f"{connector}-{task['id']}" for task in found]
    session.show(View(found, names, ("TASK", "STATE", "WORKER", "REASON"), rows))


@command(tasks, "get", "headrace tasks get orders 0", "headrace tasks get orders 0 -o yaml", output=True)
def get(session: Session, connector: Connector, task: Task) -> None:
    """Show a task's state with its whole stack trace, and its configuration."""
    api = session.api
    status = api.get(path("connectors", connector, "tasks", task, "status"))
    configs = [each["config"] for each in api.get(path("connectors", connector, "tasks")) if each["id"]["task"] == task]
    if not configs:
        raise CtlError(f"Connector {connector} has no task {task}", ExitCode.NOT_FOUND)
    rows = [("state", status["state"]), ("worker", status.get("worker_id") or NONE)]
    rows += [
        ("trace" if number == 0 else "", line) for number, line in enumerate((status.get("trace") or "").splitlines())
    ]
    rows += [(key, "" if text is None else text) for key, text in sorted(configs[0].items())]
    session.show(View({**status, "config": configs[0]}, [f"{connector}-{task}"], ("PROPERTY", "VALUE"), rows))


@command(tasks, "restart", "headrace tasks restart orders 0", "headrace tasks restart orders 1 --context production")
def restart(session: Session, connector: Connector, task: Task) -> None:
    """Restart a task. `headrace connectors restart --failed` restarts all that have FAILED."""
    session.api.send("POST", path("connectors", connector, "tasks", task, "restart"))
    session.say(f"Task {connector}-{task} is being restarted")
