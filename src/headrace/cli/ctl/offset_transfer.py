# SPDX-License-Identifier: Apache-2.0
"""`headrace offsets export` and `import`: offsets of connectors from one cluster to another, or kept for later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from headrace.cli.ctl import offset_changes, offset_files
from headrace.cli.ctl.command import OptionalConnector, Session, Yes, command
from headrace.cli.ctl.connector_offsets import (
    DryRun,
    Offsets,
    read_offsets,
    say_answer,
    show_and_confirm,
    write_offsets,
)
from headrace.cli.ctl.ctl_error import ArgumentError, CtlError
from headrace.cli.ctl.offset_changes import Change, is_same_class
from headrace.cli.ctl.offset_files import OffsetsFile
from headrace.cli.ctl.rest_api import path
from headrace.cli.ctl.statuses import Goal
from headrace.cli.ctl.waiting import DEFAULT_TIMEOUT_S, Timeout, wait_for_goal

offset_transfer = typer.Typer()
"""The commands; they belong to the group `headrace offsets`."""

_STATES_BEFORE: Final = {"RUNNING": "resume", "FAILED": "resume", "RESTARTING": "resume", "PAUSED": "pause"}
"""The request that brings a connector back to its state, after it was stopped."""


@command(
    offset_transfer,
    "export",
    "headrace offsets export orders -f orders.offsets.json",
    "headrace offsets export --all -d offsets --context production",
)
def export(
    session: Session,
    connector: OptionalConnector = None,
    all_: Annotated[bool, typer.Option("--all", help="All connectors; needs -d.")] = False,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="File to write; standard output else.", show_default=False)
    ] = None,
    directory: Annotated[
        Path | None, typer.Option("--directory", "-d", help="Directory for NAME.offsets.json.", show_default=False)
    ] = None,
) -> None:
    """Write a connector's offsets to a file that `import` reads, on this cluster or another one.

    Stop the connector before: offsets of one that runs continue to change.
    """
    if all_ is (connector is not None) or (file is not None and directory is not None):
        raise ArgumentError("Name a connector, with -f or -d or neither, or --all with -d")
    if all_ and directory is None:
        raise ArgumentError("--all needs a directory for the files: -d DIRECTORY")
    names = [connector] if connector is not None else sorted(session.api.get("/connectors"))
    failed = []
    for name in names:
        target = file if directory is None else offset_files.file_of(directory, name)
        try:
            _export(session, name, target)
        except CtlError as error:
            if not all_:
                raise
            failed.append(f"{name}: {error}")
    if failed:
        raise CtlError(f"Not exported: {'; '.join(failed)}")


def _export(session: Session, name: str, target: Path | None) -> None:
    state = _state(session, name)
    info = session.api.get(path("connectors", name))
    found = session.api.get(path("connectors", name, "offsets"))["offsets"]
    time = datetime.now(UTC).isoformat(timespec="seconds")
    content = offset_files.document(name, info["config"], info["type"], session.api.get("/"), time, found)
    if target is None:
        typer.echo(offset_files.json_text(content), nl=False)
    else:
        offset_files.write(target, content)
        session.say(f"Connector {name}: {_counted(len(found))} exported to {target}")
    if state != "STOPPED":
        session.say(f"Connector {name} is {state}: its offsets may continue to change")


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """The options of `offsets import`, besides those that name files."""

    exact: bool
    force: bool
    stop: bool
    dry_run: bool
    yes: bool
    timeout: float


@dataclass(frozen=True, slots=True)
class Plan:
    """A file, the connector that its offsets are for, and what they change there."""

    file: OffsetsFile
    offsets: Offsets
    changes: Sequence[Change]

    @property
    def connector(self) -> str:
        return self.offsets.connector

    @property
    def is_done(self) -> bool:
        return not any(change.differs for change in self.changes)

    @property
    def wanted(self) -> list[dict[str, Any]]:
        """The request: all offsets of the file, and null for partitions that are to lose theirs."""
        return [{"partition": each.partition, "offset": each.then} for each in self.changes if not each.kept]


@command(
    offset_transfer,
    "import",
    "headrace offsets import -f orders.offsets.json",
    "headrace offsets import orders -f orders.offsets.json --stop --exact",
)
def import_offsets(
    session: Session,
    connector: OptionalConnector = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="A file of `offsets export`.", show_default=False)
    ] = None,
    directory: Annotated[
        Path | None, typer.Option("--directory", "-d", help="All files of a directory.", show_default=False)
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Delete offsets that the file lacks.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Also to a connector of another class.")] = False,
    stop: Annotated[bool, typer.Option("--stop", help="Stop the connector, and resume it afterwards.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
) -> None:
    """Set a stopped connector's offsets to those of a file.

    The connector is the file's, unless another one is named. Partitions that the file lacks keep their offsets without
    --exact. A second import changes nothing.
    """
    options = ImportOptions(exact, force, stop, dry_run, yes, timeout)
    if (file is None) is (directory is None) or (connector is not None and file is None):
        raise ArgumentError("Name a file with -f, and a connector if it is not the file's, or a directory with -d")
    paths = [file] if file is not None else offset_files.files_in(directory or Path())
    plans = [_plan(session, offset_files.read(each), connector, options) for each in paths]
    for plan in plans:
        _import(session, plan, options)


def _plan(session: Session, file: OffsetsFile, connector: str | None, options: ImportOptions) -> Plan:
    """Return the plan of an import. Raise CtlError if the connector is not the file's, or is not stopped."""
    name = connector or file.connector
    if name is None:
        raise ArgumentError(
            f"{file.path} names no connector", remedy="Name it: headrace offsets import CONNECTOR -f FILE"
        )
    info = session.api.get(path("connectors", name))
    _check_kind(file, name, info, options)
    plan = _read_plan(session, file, name, options)
    if not options.dry_run and not plan.is_done:
        _check_state(session, name, options)
    return plan


def _read_plan(session: Session, file: OffsetsFile, name: str, options: ImportOptions) -> Plan:
    offsets = read_offsets(session, name)
    return Plan(file, offsets, offset_changes.changes(offsets.committed, file.offsets, exact=options.exact))


def _check_kind(file: OffsetsFile, name: str, info: Any, options: ImportOptions) -> None:
    if file.type is not None and file.type != info["type"]:
        raise CtlError(f"{file.path} has offsets of a {file.type}, but connector {name} is a {info['type']}")
    own = info["config"].get("connector.class")
    if file.connector_class is not None and not options.force and not is_same_class(file.connector_class, own):
        raise CtlError(
            f"{file.path} has offsets of {file.connector_class}, but connector {name} is of {own}",
            remedy="If it understands these offsets nevertheless: --force",
        )


def _check_state(session: Session, name: str, options: ImportOptions) -> str:
    """Return the connector's state. Raise CtlError if its offsets cannot be changed from there."""
    state = _state(session, name)
    if state == "STOPPED":
        return state
    if not options.stop:
        raise CtlError(
            f"Connector {name} is {state}: offsets are changed while it is STOPPED",
            remedy=f"Give --stop, which resumes it afterwards, or: headrace connectors stop {name} --wait",
        )
    if state not in _STATES_BEFORE:
        raise CtlError(f"Connector {name} is {state}, so that it cannot be brought back to a state: try again later")
    return state


def _import(session: Session, plan: Plan, options: ImportOptions) -> None:
    name = plan.connector
    kept = sum(change.kept for change in plan.changes)
    if kept:
        session.say(f"{plan.file.path} lacks {_counted(kept)} of connector {name}: kept; --exact deletes them")
    if plan.is_done:
        session.say(f"Connector {name} has the offsets of {plan.file.path} already")
    elif show_and_confirm(session, plan.offsets, plan.changes, options.dry_run, options.yes):
        state = _check_state(session, name, options)
        if state == "STOPPED":
            say_answer(session, name, write_offsets(session, name, plan.wanted))
        else:
            with _stopped(session, name, state, options.timeout):
                plan = _read_plan(session, plan.file, name, options)  # there may be more partitions since
                say_answer(session, name, write_offsets(session, name, plan.wanted))


@contextmanager
def _stopped(session: Session, name: str, state: str, timeout: float) -> Iterator[None]:
    """Stop a connector, and bring it back to ``state``: but not after an error, for half of a change may be made."""
    session.api.send("PUT", path("connectors", name, "stop"))
    try:
        wait_for_goal(session, name, Goal.STOPPED, timeout)
        yield
    except BaseException:
        session.say(f"Connector {name} stays STOPPED. Repeat the import, or: headrace connectors resume {name}")
        raise
    verb = _STATES_BEFORE[state]
    session.api.send("PUT", path("connectors", name, verb))
    session.say(f"Connector {name} is being {verb}d")


def _state(session: Session, name: str) -> str:
    return str(session.api.get(path("connectors", name, "status"))["connector"]["state"])


def _counted(number: int) -> str:
    return f"{number:,} offset{'' if number == 1 else 's'}"
