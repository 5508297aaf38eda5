# SPDX-License-Identifier: Apache-2.0
"""`headrace logs`: the log lines about a connector and its tasks, of all workers."""

from __future__ import annotations

import json
from collections.abc import Collection
from contextlib import suppress
from typing import Annotated, Any, Final

import typer

from headrace.cli.ctl.command import Connector, Session, command
from headrace.cli.ctl.following import Follower, NoAnswerTimeout
from headrace.cli.ctl.loggers import level_names, parse_level
from headrace.cli.ctl.record_lines import time_text
from headrace.cli.ctl.rest_api import path
from headrace.logs.formats import escaped, indented

_MOST: Final = 1000
_WAIT_S: Final = 20


def add_logs_command(app: typer.Typer) -> None:
    """Add the command to ``app``: it is no group."""
    command(app, "logs", "headrace logs -f orders", "headrace logs orders --level warn --task 0 --json")(logs)


def logs(
    session: Session,
    connector: Connector,
    n: Annotated[int, typer.Option("-n", "--lines", min=1, max=_MOST, help="Number of last lines.")] = 200,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Continue with new lines, until Ctrl-C.")] = False,
    level: Annotated[
        str,
        typer.Option(
            help="The least level, such as WARN.", metavar="LEVEL", parser=parse_level, autocompletion=level_names
        ),
    ] = "ALL",
    task: Annotated[int | None, typer.Option(min=0, help="This task alone.", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="A line of JSON for each line.")] = False,
    no_answer_timeout: NoAnswerTimeout = None,
) -> None:
    """Show what workers have logged about a connector and its tasks: what they keep in memory."""
    session.check_headrace("headrace logs")
    of = path("connectors", connector, "logs")
    params: dict[str, Any] = {"level": level, **({} if task is None else {"task": task})}
    follower = Follower(session, no_answer_timeout)
    with suppress(KeyboardInterrupt):
        found = session.api.get(of, limit=n, **params)
        missing = _print(session, found, as_json, ())
        while follow:
            after = {"after": found["positions"], "wait": _WAIT_S, **params}
            found = follower.ask(lambda after=after: session.api.get(of, limit=_MOST, **after))  # type: ignore[misc]
            missing = _print(session, found, as_json, missing)


def _print(session: Session, found: dict[str, Any], as_json: bool, known: Collection[str]) -> Collection[str]:
    """Print an answer; return the workers that are missing, which are reported unless they are ``known``."""
    missing: dict[str, str] = found["missing"]
    for worker, reason in missing.items():
        if worker not in known:
            session.say(f"Without the lines of worker {worker}: {reason}")
    for worker in found["gaps"]:
        session.say(f"Worker {worker} was started again, or has more lines than it keeps: some are not shown")
    for line in found["lines"]:
        typer.echo(json.dumps(line, ensure_ascii=False) if as_json else _text(line))
    return missing


def _text(line: dict[str, Any]) -> str:
    part = f"[{line['part']}] " if line["part"] else ""
    text = escaped(f"{time_text(line['time'])} {line['level']:5} {line['worker']} {part}{line['message']}")
    return f"{text}\n{indented(line['trace'])}" if line["trace"] else text
