# SPDX-License-Identifier: Apache-2.0
"""`headrace connectors`: create, change, delete, pause, resume, stop and restart."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from headrace.cli.ctl.command import Connector, Connectors, Session, Yes, command
from headrace.cli.ctl.ctl_error import ArgumentError, CtlError
from headrace.cli.ctl.rest_api import path
from headrace.cli.ctl.statuses import Goal
from headrace.cli.ctl.waiting import DEFAULT_TIMEOUT_S, Timeout, Wait, wait_for_goal

if TYPE_CHECKING:
    from headrace.cli.connector_files import ConnectorFile

connector_changes = typer.Typer()
"""The commands; they belong to the group `headrace connectors`."""

File = Annotated[
    Path,
    typer.Option("--file", "-f", help='Properties, JSON with these, or {"name", "config"}.', show_default=False),
]
_INITIAL_STATES: Final = {"STARTED": Goal.RUNNING, "PAUSED": Goal.PAUSED, "STOPPED": Goal.STOPPED}
_REMOVED: Final = "-"
_MISTAKES: Final = "error(s)"
"""Begin of the answer to a configuration that is refused; the mistakes follow."""


def read_file(file: Path) -> ConnectorFile:
    """Return the connector of a file. Raise ConfigError for one that is not readable or has none."""
    from headrace.cli.connector_files import read_connector_file  # it imports what parses requests

    return read_connector_file(file)


@contextmanager
def _naming_the_check(file: Path) -> Iterator[None]:
    """Add the command that lists mistakes to the error of a configuration with mistakes, which is one long line."""
    try:
        yield
    except CtlError as error:
        if _MISTAKES in str(error):
            error.remedy = f"One a line: headrace config validate -f {shlex.quote(str(file))}"
        raise


@command(
    connector_changes,
    "create",
    "headrace connectors create -f orders.json",
    "headrace connectors create -f orders.json --wait",
)
def create(session: Session, file: File, wait: Wait = False, timeout: Timeout = DEFAULT_TIMEOUT_S) -> None:
    """Create a connector of a file. One with "initial_state" is created paused or stopped."""
    found = read_file(file)
    body: dict[str, Any] = {"name": found.name, "config": dict(found.config)}
    goal = Goal.RUNNING
    if found.target_state is not None:
        goal = _INITIAL_STATES[found.target_state.value]
        body["initial_state"] = goal.value
    with _naming_the_check(file):
        answer = session.api.send("POST", "/connectors", body)
    session.say(f"Connector {found.name} is created")
    _say_warnings(session, answer)
    if wait:
        wait_for_goal(session, found.name, goal, timeout)


@command(
    connector_changes,
    "update",
    "headrace connectors update -f orders.json",
    "headrace connectors update -f orders.json --wait",
)
def update(session: Session, file: File, wait: Wait = False, timeout: Timeout = DEFAULT_TIMEOUT_S) -> None:
    """Replace the configuration of the connector that the file names. Properties that it lacks are removed."""
    found = read_file(file)
    session.api.get(path("connectors", found.name))  # the request that follows would create it
    with _naming_the_check(file):
        answer = session.api.send("PUT", path("connectors", found.name, "config"), dict(found.config))
    session.say(f"Connector {found.name} is updated")
    _say_warnings(session, answer)
    if wait:
        wait_for_goal(session, found.name, Goal.RUNNING, timeout)


@command(
    connector_changes,
    "patch",
    "headrace connectors patch orders tasks.max=4",
    "headrace connectors patch orders topic=orders-2 transforms- --wait",
)
def patch(
    session: Session,
    name: Connector,
    changes: Annotated[list[str], typer.Argument(metavar="KEY=VALUE|KEY-...", help="KEY- removes a property.")],
    wait: Wait = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
) -> None:
    """Change some properties of a connector, and keep the others."""
    answer = session.api.send("PATCH", path("connectors", name, "config"), dict(map(_change, changes)))
    session.say(f"Connector {name} is updated")
    _say_warnings(session, answer)
    if wait:
        wait_for_goal(session, name, Goal.RUNNING, timeout)


def _change(text: str) -> tuple[str, str | None]:
    key, separator, value = text.partition("=")
    if separator and key:
        return key, value
    if text.endswith(_REMOVED) and len(text) > 1:
        return text.removesuffix(_REMOVED), None
    raise ArgumentError(f"Invalid change '{text}': KEY=VALUE sets a property, KEY- removes it")


@command(
    connector_changes, "delete", "headrace connectors delete orders", "headrace connectors delete orders --yes --wait"
)
def delete(
    session: Session, names: Connectors, yes: Yes = False, wait: Wait = False, timeout: Timeout = DEFAULT_TIMEOUT_S
) -> None:
    """Delete connectors. Their offsets stay: a connector of the same name continues from them."""
    _check_all(session, names)
    for name in names:
        session.confirm(f"Delete connector {name}?", yes)
        session.api.send("DELETE", path("connectors", name))
        if not wait:
            session.say(f"Connector {name} is deleted")
    _wait_for_all(session, names, Goal.GONE, timeout, wait)


@command(
    connector_changes, "pause", "headrace connectors pause orders", "headrace connectors pause orders invoices --wait"
)
def pause(session: Session, names: Connectors, wait: Wait = False, timeout: Timeout = DEFAULT_TIMEOUT_S) -> None:
    """Pause connectors: their tasks stay, and do nothing."""
    _put(session, names, "pause", "is being paused")
    _wait_for_all(session, names, Goal.PAUSED, timeout, wait)


@command(connector_changes, "resume", "headrace connectors resume orders", "headrace connectors resume orders --wait")
def resume(session: Session, names: Connectors, wait: Wait = False, timeout: Timeout = DEFAULT_TIMEOUT_S) -> None:
    """Resume connectors that are paused or stopped."""
    _put(session, names, "resume", "is being resumed")
    _wait_for_all(session, names, Goal.RUNNING, timeout, wait)


@command(
    connector_changes, "stop", "headrace connectors stop orders", "headrace connectors stop orders --wait --timeout 30"
)
def stop(session: Session, names: Connectors, wait: Wait = False, timeout: Timeout = DEFAULT_TIMEOUT_S) -> None:
    """Stop connectors: their tasks end, the configuration stays, and offsets can be changed."""
    _put(session, names, "stop", "is being stopped")
    _wait_for_all(session, names, Goal.STOPPED, timeout, wait)


@command(
    connector_changes,
    "restart",
    "headrace connectors restart orders --tasks",
    "headrace connectors restart orders --failed",
)
def restart(
    session: Session,
    names: Connectors,
    tasks: Annotated[bool, typer.Option("--tasks", help="Its tasks as well.")] = False,
    failed: Annotated[bool, typer.Option("--failed", help="Only what has FAILED, tasks included.")] = False,
    wait: Wait = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
) -> None:
    """Restart connectors; their tasks only with --tasks or --failed."""
    params = {"includeTasks": "true" if tasks or failed else "false", "onlyFailed": "true" if failed else "false"}
    _check_all(session, names)
    for name in names:
        session.api.send("POST", path("connectors", name, "restart"), params=params)
        session.say(f"Connector {name} is being restarted")
    _wait_for_all(session, names, Goal.RUNNING, timeout, wait)


def _check_all(session: Session, names: list[str]) -> None:
    """Raise CtlError for a name that no connector has, before the others are changed."""
    if len(names) > 1:
        session.check_connectors(names)


def _put(session: Session, names: list[str], verb: str, message: str) -> None:
    _check_all(session, names)
    for name in names:
        session.api.send("PUT", path("connectors", name, verb))
        session.say(f"Connector {name} {message}")


def _wait_for_all(session: Session, names: list[str], goal: Goal, timeout: float, wait: bool) -> None:
    for name in names if wait else ():
        wait_for_goal(session, name, goal, timeout)


def _say_warnings(session: Session, answer: Any) -> None:
    """Print the warnings that headrace's workers add to a new configuration."""
    for warning in (answer or {}).get("warnings") or ():
        session.say(f"Warning: {warning}")
