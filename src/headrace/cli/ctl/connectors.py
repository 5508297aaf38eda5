# SPDX-License-Identifier: Apache-2.0
"""`headrace connectors`: list, show and watch. The changes are in ``connector_changes``."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any

import typer

from headrace.cli.ctl.command import Connector, Session, SomeConnectors, command
from headrace.cli.ctl.ctl_error import CtlError, ExitCode
from headrace.cli.ctl.description import Described, masked, render
from headrace.cli.ctl.following import Follower, NoAnswerTimeout
from headrace.cli.ctl.output import Output, View, console, print_lines
from headrace.cli.ctl.rest_api import path
from headrace.cli.ctl.statuses import HEADINGS, NONE, Json, Seen, changed_parts, row, seen_parts
from headrace.logs.formats import escaped
from headrace.model.deadline import Deadline

connectors = typer.Typer(
    name="connectors", help="Connectors: list, show, create and change them.", no_args_is_help=True
)


@command(connectors, "ls", "headrace connectors ls", "headrace connectors ls -o name", output=True)
def list_connectors(session: Session) -> None:
    """List all connectors with their states; on headrace's workers with a verdict on their health."""
    found = session.api.get("/connectors", expand=["status", "health"])
    known = {name: parts for name, parts in sorted(found.items()) if "status" in parts}
    with_health = any("health" in parts for parts in known.values())
    rows = [
        (*row(name, parts["status"]), *([parts.get("health", {}).get("verdict") or NONE] if with_health else []))
        for name, parts in known.items()
    ]
    session.show(View(found, list(known), (*HEADINGS, *(["HEALTH"] if with_health else [])), rows))


@command(
    connectors,
    "get",
    "headrace connectors get orders",
    "headrace connectors get orders -o json > orders.json",
    output=True,
)
def get(session: Session, name: Connector) -> None:
    """Show a connector's configuration. As JSON it is a file for `create -f`."""
    found = session.api.get(path("connectors", name))
    rows = [(key, "" if text is None else text) for key, text in sorted(found["config"].items())]
    session.show(View(found, [name], ("PROPERTY", "VALUE"), rows))


@command(
    connectors,
    "describe",
    "headrace connectors describe orders",
    "headrace connectors describe orders --config",
    output=True,
)
def describe(
    session: Session,
    name: Connector,
    config: Annotated[bool, typer.Option("--config", help="The configuration too, without secrets.")] = False,
) -> None:
    """Show states, failures, topics and, on headrace's workers, the health of a connector on one screen."""
    api = session.api
    status = api.get(path("connectors", name, "status"))
    info = api.find(path("connectors", name)) or {}
    health = api.find(path("connectors", name, "health"))  # Java has none
    topics = (_found_if_enabled(session, path("connectors", name, "topics")) or {}).get(name, {}).get("topics")
    is_table = session.output is Output.TABLE
    shown = masked(info.get("config") or {}, _passwords(session, info)) if config or not is_table else None
    if not is_table:
        data = {"name": name, "config": shown, "status": status, "topics": topics, "health": health}
        session.show(View(data, [name], (), ()))
        return
    connector_class = (info.get("config") or {}).get("connector.class")
    now_ms = time.time_ns() // 1_000_000
    out = console()
    print_lines(out, render(Described(name, connector_class, status, now_ms, health, topics, shown), out.width))


def _passwords(session: Session, info: Json) -> frozenset[str] | None:
    """Return the connector's properties of type PASSWORD; None if its class, and so which these are, is not known."""
    connector_class = (info.get("config") or {}).get("connector.class")
    try:
        found = session.api.get(path("connector-plugins", connector_class, "config")) if connector_class else None
    except CtlError:
        return None
    return None if found is None else frozenset(key["name"] for key in found if key.get("type") == "PASSWORD")


def _found_if_enabled(session: Session, of: str) -> Any:
    """Return an answer, None for one that Java refuses: topics may be disabled there (403)."""
    try:
        return session.api.find(of)
    except CtlError as error:
        if error.code is not ExitCode.NOT_ALLOWED:
            raise
        return None


@command(
    connectors,
    "watch",
    "headrace connectors watch",
    "headrace connectors watch orders --timeout 60 -o json",
    output=True,
)
def watch(
    session: Session,
    names: SomeConnectors = None,
    interval: Annotated[float, typer.Option(help="Seconds between two requests.", min=0.1)] = 2.0,
    timeout: Annotated[float | None, typer.Option(help="Seconds after which to end.", show_default=False)] = None,
    no_answer_timeout: NoAnswerTimeout = None,
) -> None:
    """Print a line for each change of a state or of a verdict on health, until Ctrl-C.

    Of all connectors unless some are named.
    """
    session.check_connectors(names or ())  # else a name with a mistake is waited for without limit
    end = None if timeout is None else Deadline.after(timeout)
    with suppress(KeyboardInterrupt):
        _watch(session, names, interval, end, Follower(session, no_answer_timeout, end))


def _watch(
    session: Session, names: list[str] | None, interval: float, end: Deadline | None, follower: Follower
) -> None:
    def states() -> Json:
        found: Json = session.api.get("/connectors", expand=["status", "health"])
        return found

    seen: dict[tuple[str, str], Seen] | None = None
    while True:
        found = follower.ask(states) if seen is not None else states()
        now = {key: part for key, part in seen_parts(found) if not names or key[0] in names}
        for key, part in changed_parts(seen or {}, now):
            _print_change(session.output, *key, part)
        seen = now
        if end is not None and end.expired:
            return
        time.sleep(interval)


def _print_change(output: Output, name: str, part: str, seen: Seen) -> None:
    at = datetime.now().astimezone().isoformat(timespec="seconds")
    if output is Output.TABLE:
        typer.echo(escaped(f"{at}  {name}  {part}  {seen.text}"))
    elif output is Output.NAME:
        typer.echo(name)
    else:  # a line of JSON is YAML as well
        fields = {"state": seen.state, "verdict": seen.verdict, "why": seen.why or None}
        line = json.dumps({"time": at, "name": name, "part": part, **fields})
        typer.echo(line if output is Output.JSON else f"- {line}")
