# SPDX-License-Identifier: Apache-2.0
"""`headrace tasks`: list, show and restart the tasks of a connector."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.cli.ctl.command import Session, command
from headrace.cli.ctl.completion import Connector
from headrace.cli.ctl.ctl_error import CtlError, ExitCode
from headrace.cli.ctl.output import View
from headrace.cli.ctl.rest_api import path
from headrace.cli.ctl.statuses import NONE, reason

tasks = typer.Typer(name="tasks", help="Tasks of a connector: list, show and restart them.", no_args_is_help=True)

Task = Annotated[int, typer.Argument(help="The task's number, from 0 on.", show_default=False, min=0)]


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
