# SPDX-License-Identifier: Apache-2.0
"""`headrace offsets get`, `diff`, `set` and `reset`: a connector's committed offsets (KIP-875)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from headrace.cli.ctl import offset_changes, offset_files
from headrace.cli.ctl.command import Connector, Session, Yes, command
from headrace.cli.ctl.ctl_error import ArgumentError, CtlError, ExitCode, parse_json
from headrace.cli.ctl.offset_changes import Change, Known
from headrace.cli.ctl.output import Output, View
from headrace.cli.ctl.rest_api import path
from headrace.cli.ctl.statuses import Goal, Json

connector_offsets = typer.Typer()
"""The commands; they belong to the group `headrace offsets`."""

OffsetsOption = Annotated[
    Path | None,
    typer.Option("--file", "-f", help="A file of `offsets export` or `get -o json`.", show_default=False),
]
_AS_SHOWN: Final = "It has the form that is shown by: headrace offsets get CONNECTOR -o json"
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")]


@dataclass(frozen=True, slots=True)
class Offsets:
    """A connector's offsets in the form of the REST API, with what shows the effect of a change."""

    connector: str
    committed: list[dict[str, Any]]
    known: Known


@command(
    connector_offsets,
    "get",
    "headrace offsets get orders",
    "headrace offsets get orders -o json > offsets.json",
    output=True,
)
def get(session: Session, connector: Connector) -> None:
    """Show the committed offsets of a connector."""
    found = session.api.get(path("connectors", connector, "offsets"))
    texts = [(offset_changes.text(each["partition"]), offset_changes.text(each["offset"])) for each in found["offsets"]]
    session.show(View(found, [partition for partition, _ in texts], ("PARTITION", "OFFSET"), texts))


@command(
    connector_offsets,
    "diff",
    "headrace offsets diff orders orders.offsets.json",
    "headrace offsets diff orders orders.offsets.json -o json",
    output=True,
)
def diff(
    session: Session,
    connector: Connector,
    file: Annotated[Path, typer.Argument(help="A file of `export` or `get -o json`.", show_default=False)],
) -> None:
    """Show where a connector's offsets differ from a file's.

    NOW is the connector's offset, THEN the file's, and EFFECT what an import with --exact would repeat or skip. Exit
    code 0 if nothing differs, 1 if something does, 2 for an error, as of diff.
    """
    try:
        offsets = read_offsets(session, connector)
        compared = offset_changes.changes(offsets.committed, offset_files.read(file).offsets, exact=True)
    except CtlError as error:
        code = ExitCode.TROUBLE if error.code is ExitCode.ERROR else error.code
        raise CtlError(str(error), code, error.remedy) from error
    different = [change for change in compared if change.differs]
    if different or session.output is not Output.TABLE:
        _show(session, different, offsets.known)
    if different:
        raise typer.Exit(ExitCode.DIFFERENT)


@command(
    connector_offsets,
    "set",
    "headrace offsets set orders -f offsets.json",
    """headrace offsets set orders --partition '{"file": "a"}' --offset null""",
)
def set_offsets(
    session: Session,
    connector: Connector,
    file: OffsetsOption = None,
    partition: Annotated[str | None, typer.Option(help="A partition, in JSON.", show_default=False)] = None,
    offset: Annotated[
        str | None, typer.Option(help="Its offset, in JSON; null deletes it.", show_default=False)
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Change offsets of a stopped connector: of the partitions that are named, and no others."""
    wanted = _wanted(file, partition, offset)
    offsets = read_offsets(session, connector)
    named = [change for change in offset_changes.changes(offsets.committed, wanted) if not change.kept]
    if show_and_confirm(session, offsets, named, dry_run, yes):
        say_answer(session, connector, write_offsets(session, connector, wanted))


@command(connector_offsets, "reset", "headrace offsets reset orders", "headrace offsets reset orders --dry-run")
def reset(session: Session, connector: Connector, dry_run: DryRun = False, yes: Yes = False) -> None:
    """Delete all offsets of a stopped connector: it begins anew."""
    offsets = read_offsets(session, connector)
    deleted = offset_changes.changes(offsets.committed, (), exact=True)
    if show_and_confirm(session, offsets, deleted, dry_run, yes):
        say_answer(session, connector, _changed(session, connector, "DELETE"))


def read_offsets(session: Session, connector: str) -> Offsets:
    """Return a connector's offsets; on headrace's workers with the bounds that Kafka has of a sink's."""
    config = session.api.get(path("connectors", connector))["config"]
    where = path("connectors", connector, "offsets")
    try:
        found = session.api.get(where, expand="bounds")  # Java ignores the parameter
    except CtlError as error:
        if error.code in (ExitCode.NOT_FOUND, ExitCode.NO_ANSWER):
            raise
        found = session.api.get(where)
        session.say(f"The bounds of the topics are not known: {error}")
    known = Known(config, found.get("bounds"), is_headrace="bounds" in found)
    return Offsets(connector, found["offsets"], known)


def write_offsets(session: Session, connector: str, wanted: Sequence[Any]) -> Any:
    """Change the offsets of a stopped connector and return the answer."""
    return _changed(session, connector, "PATCH", {"offsets": list(wanted)})


def _changed(session: Session, connector: str, method: str, body: Any = None) -> Any:
    """Return the answer to a change. A worker's refusal names its own request for a stop: add the command for it."""
    try:
        return session.api.send(method, path("connectors", connector, "offsets"), body)
    except CtlError as error:
        if error.code is ExitCode.ERROR:
            with suppress(CtlError):  # the refusal is what the user has to see
                error.remedy = _remedy(connector, session.api.find(path("connectors", connector, "status")) or {})
        raise


def _remedy(connector: str, status: Json) -> str | None:
    state = status.get("connector", {}).get("state")
    if state in (None, Goal.STOPPED.value):
        return None
    return f"It is {state}. Stop it: headrace connectors stop {connector} --wait"


def show_and_confirm(session: Session, offsets: Offsets, found: Sequence[Change], dry_run: bool, yes: bool) -> bool:
    """Print now and then; return whether to make the change, after the user's yes."""
    _show(session, found, offsets.known)
    said = offset_changes.summary(found, offsets.known)
    if not dry_run:
        session.confirm(f"{said} Change the offsets of connector {offsets.connector}?", yes)
    return not dry_run


def say_answer(session: Session, connector: str, answer: Any) -> None:
    """Print the worker's answer to a change."""
    session.say((answer or {}).get("message") or f"The offsets of connector {connector} are changed")


def _show(session: Session, found: Sequence[Change], known: Known) -> None:
    rows = offset_changes.rows(found, known)
    session.show(View(offset_changes.data(found, known), [row[0] for row in rows], offset_changes.HEADINGS, rows))


def _object(text: str, option: str, or_null: bool = False) -> dict[str, Any] | None:
    """Return the JSON object of an option. Raise ArgumentError for other texts."""
    value = parse_json(text, option, _AS_SHOWN)
    if not isinstance(value, dict) and not (or_null and value is None):
        raise ArgumentError(f"{option} is not a JSON object{' or null' if or_null else ''}: {text}", _AS_SHOWN)
    return value


def _wanted(file: Path | None, partition: str | None, offset: str | None) -> list[dict[str, Any]]:
    """Return the offsets that the options name, those of a file or one. Raise ArgumentError for other options."""
    if file is None and partition is not None and offset is not None:
        return [{"partition": _object(partition, "--partition"), "offset": _object(offset, "--offset", or_null=True)}]
    if file is None or partition is not None or offset is not None:
        raise ArgumentError("Name the offsets by --file, or one by --partition and --offset")
    found = offset_files.read(file)
    if not found.offsets:
        remedy = "To delete all offsets: headrace offsets reset CONNECTOR"
        raise ArgumentError(f"{file} has no offsets", remedy)
    return found.offsets
