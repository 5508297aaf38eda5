# SPDX-License-Identifier: Apache-2.0
"""`headrace dlq`: a connector's dead letters, to look at, redrive and discard. Needs headrace's worker."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from headrace.cli.ctl.command import Connector, Session, Yes, command
from headrace.cli.ctl.ctl_error import ArgumentError, CtlError, ExitCode, read_json
from headrace.cli.ctl.output import Output, View, show_table
from headrace.cli.ctl.rest_api import path
from headrace.cli.ctl.statuses import NONE, counted
from headrace.config.properties_file import read_properties
from headrace.herder.errors import BadRequestError

dlq = typer.Typer(name="dlq", help="Dead letters: show, redrive, discard.", no_args_is_help=True)

DLQ_TOPIC: Final = "errors.deadletterqueue.topic.name"
_CHAIN: Final = ("key.converter", "value.converter", "header.converter", "transforms", "predicates")
_LETTERS: Final = "dead-letters"
_MOST_SHOWN: Final = 500
Filters = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        "-f",
        help="NAME=VALUE, NAME!=VALUE or NAME~=PART, of stage, exception, message, class, topic, task, connector,"
        " offset, since or until. May be repeated; all have to match.",
        show_default=False,
    ),
]
Shown = Annotated[int, typer.Option("--limit", help="At most so many letters.", min=1, max=_MOST_SHOWN)]
Limit = Annotated[int | None, typer.Option(help="At most so many letters.", min=1, show_default=False)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show how many letters it would be, and change nothing.")]
_INTERVAL_S: Final = 0.5
_RUNNING: Final = "RUNNING"
_DONE: Final = "COMPLETED"
_SHOWN: Final = ("passed", "redriven", "dropped", "failed", "redriven_before", "of_others", "kept")


@command(dlq, "ls", "headrace dlq ls", "headrace dlq ls -o json", output=True)
def ls(session: Session) -> None:
    """List connectors that have a dead letter topic, with the letters that are pending."""
    known = session.api.get("/connectors", expand=["info"])
    named = {name for name, parts in known.items() if parts["info"]["config"].get(DLQ_TOPIC)}
    found = [_letters(session, name, limit=0) for name in sorted(named)]
    rows = [
        (each["connector"], each["topic"], _count(each), _time(each["oldest"]), str(each["redriven"] or NONE))
        for each in found
    ]
    headings = ("NAME", "TOPIC", "PENDING", "OLDEST", "REDRIVEN BEFORE")
    session.show(View(found, [each["connector"] for each in found], headings, rows))


@command(
    dlq,
    "show",
    "headrace dlq show orders",
    "headrace dlq show orders --filter stage=VALUE_CONVERTER --limit 5",
    "headrace dlq show orders -o json",
    output=True,
)
def show(session: Session, connector: Connector, filter: Filters = None, limit: Shown = 10) -> None:
    """Show a connector's pending dead letters: grouped by cause, and the first ones with their records."""
    found = _letters(session, connector, limit=limit, filter=_checked(filter), decode="true")
    letters = found["letters"]
    if session.output is not Output.TABLE:
        names = [f"{each['partition']}:{each['offset']}" for each in letters]
        session.show(View(found, names, (), ()))
        return
    show_table(("COUNT", "STAGE", "EXCEPTION", "MESSAGE", "OLDEST"), [_group_row(group) for group in found["groups"]])
    typer.echo()
    show_table(("LETTER", "RECORD OF", "KEY", "VALUE", "REDRIVEN"), [_letter_row(letter) for letter in letters])
    if found["next"] is not None:
        session.say(f"{found['matching'] - len(letters)} more: --limit, --filter")
    if found["redriven"]:
        session.say(
            f"{found['redriven']} came back after a redrive: they are redriven only with --again, so that no record"
            " goes round without limit"
        )


@command(
    dlq,
    "redrive",
    "headrace dlq redrive orders --dry-run",
    "headrace dlq redrive orders --filter stage=VALUE_CONVERTER --limit 1",
    "headrace dlq redrive orders --config mended.json",
    "headrace dlq redrive orders --to-topic orders-again",
)
def redrive(
    session: Session,
    connector: Connector,
    filter: Filters = None,
    limit: Limit = None,
    to_topic: Annotated[str | None, typer.Option(help="Write to this topic.", show_default=False)] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="Converters and transformations in place of the connector's.", show_default=False),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Also letters that were redriven before.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Write the records of dead letters again, each exactly once; letters that are not selected stay."""
    body = {**_selection(filter, limit), "to_topic": to_topic, "again": again}
    body["config"] = _chain(session, config) if config is not None else None
    where = f"topic {to_topic}" if to_topic is not None else f"connector {connector}"
    _begin(session, connector, "redrive", body, f"to {where}", dry_run, yes)


@command(
    dlq,
    "discard",
    "headrace dlq discard orders --filter message~=duplicate --dry-run",
    "headrace dlq discard orders --filter offset=0:10-20 --yes",
)
def discard(
    session: Session,
    connector: Connector,
    filter: Filters = None,
    limit: Limit = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Pass dead letters without writing their records: they are not pending any more."""
    _begin(session, connector, "discard", _selection(filter, limit), "for good", dry_run, yes)


def _chain(session: Session, file: Path) -> dict[str, Any]:
    """Return the converters and transformations of a file with a connector's properties, JSON or Java's format."""
    found: Any = read_properties(file) if file.suffix == ".properties" else read_json(file)
    found = found.get("config", found) if isinstance(found, dict) else found
    if not isinstance(found, Mapping):
        raise ArgumentError(f"{file} is neither a JSON object nor a file whose name ends in .properties")
    chain = {name: value for name, value in found.items() if name.startswith(_CHAIN)}
    if len(chain) < len(found):
        session.say(
            f"Of {file} only converters and transformations matter: {', '.join(sorted(chain)) or 'it has none'}"
        )
    return chain


def _begin(
    session: Session, connector: str, action: str, body: dict[str, Any], how: str, dry_run: bool, yes: bool
) -> None:
    """Show how many letters it is, ask, and follow the worker's job to its end."""
    where = path("connectors", connector, _LETTERS, action)
    wanted = {name: value for name, value in body.items() if value is not None}
    try:
        plan = session.api.send("POST", where, {**wanted, "dry_run": True})["counts"]
    except CtlError as error:
        raise _explained(session, connector, error) from error
    before = plan["redriven_before"]
    kept = plan["planned"] - plan["taken"]
    session.say(
        f"{counted(plan['taken'], 'dead letter')} of connector {connector} to {action}"
        + (f"; {kept} before them stay, and get other offsets" if kept else "")
        + (f"; {plan['of_others']} are letters of other connectors and stay" if plan.get("of_others") else "")
        + (f"; {before} were redriven before and stay (--again)" if before else "")
    )
    if dry_run or not plan["taken"]:
        return
    session.confirm(f"{action.capitalize()} {counted(plan['taken'], 'dead letter')} {how}?", yes)
    job = session.api.send("POST", where, wanted)
    follow(session, path("connectors", connector, _LETTERS, "redrive"), job)


def _letters(session: Session, connector: str, limit: int, **params: Any) -> Any:
    """Return the worker's answer about a connector's letters."""
    try:
        given = {"limit": limit, "decode": "false", **params}
        return session.api.get(path("connectors", connector, _LETTERS), **given)
    except CtlError as error:
        raise _explained(session, connector, error) from error


def _explained(session: Session, connector: str, error: CtlError) -> CtlError:
    """Return an error that distinguishes a worker without dead letters from a connector that is not there."""
    if error.code is not ExitCode.NOT_FOUND or session.api.find(path("connectors", connector)) is None:
        return error
    if "HTTP 404" not in str(error):
        return error
    return CtlError("Dead letters need headrace's worker: Kafka Connect's in Java has no requests for them")


def _selection(filter: list[str] | None, limit: int | None) -> dict[str, Any]:
    return {"filter": _checked(filter) or None, "limit": limit}


def _checked(filters: list[str] | None) -> list[str]:
    """Return the filters. Raise ArgumentError for one that the worker would refuse."""
    from headrace.inspection.dead_letters.letter_filter import parse_filter

    try:
        parse_filter(filters or (), now_ms=0)
    except BadRequestError as error:
        raise ArgumentError(str(error)) from error
    return filters or []


def _count(found: Mapping[str, Any]) -> str:
    return str(found["pending"]) if found["complete"] else f"about {found['pending']}"


def _group_row(group: Mapping[str, Any]) -> tuple[str, ...]:
    exception = (group["exception"] or NONE).rpartition(".")[2]
    return (str(group["count"]), group["stage"] or NONE, exception, group["message"] or NONE, _time(group["oldest"]))


def _letter_row(letter: Mapping[str, Any]) -> tuple[str, ...]:
    origin, record = letter["origin"], letter["record"] or {}
    place = [origin["topic"], origin["partition"], origin["offset"]]
    source = origin["source_offset"] or NONE
    where = "{}-{}@{}".format(*place) if None not in place else f"{origin['topic'] or NONE} {source}"
    parts = (_part(record.get(name)) for name in ("key", "value"))
    return (f"{letter['partition']}:{letter['offset']}", where, *parts, str(letter["redriven"] or NONE))


def _part(part: Mapping[str, Any] | None) -> str:
    """Return a key or value as text: decoded, or as bytes if it cannot be."""
    import base64

    if not part or part["bytes"] is None:
        return NONE
    if "error" not in part:
        return json.dumps(part["value"], ensure_ascii=False)
    return base64.b64decode(part["bytes"].rstrip("…")[: len(part["bytes"]) // 4 * 4]).decode("utf-8", "replace")


def _time(ms: int | None) -> str:
    return NONE if ms is None else datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


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
