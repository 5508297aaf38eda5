# SPDX-License-Identifier: Apache-2.0
"""`headrace export`: a cluster's connectors as files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import quote

import typer

from headrace.cli.ctl.command import Session, SomeConnectors, command
from headrace.cli.ctl.ctl_error import ArgumentError, CtlError, ExitCode, near_name
from headrace.cli.plan.exported import Format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.cli.plan.cluster_state import Current
    from headrace.cli.plan.exported import Exported

_FOR_OWNER: Final = 0o600
_LONGEST_NAME: Final = 200
"""Bytes; most file systems allow 255."""


def add_export_command(app: typer.Typer) -> None:
    """Add the command to ``app``: it is no group."""
    command(app, "export", "headrace export -d connectors/", "headrace export orders -o json > orders.json")(export)


def export(
    session: Session,
    names: SomeConnectors = None,
    directory: Annotated[
        Path | None,
        typer.Option("--directory", "-d", help="Where to write a file for each connector.", show_default=False),
    ] = None,
    form: Annotated[Format, typer.Option("--output", "-o", help="The form of the files.")] = Format.YAML,
) -> None:
    """Write connectors with their states as files for `plan`, which then has no changes.

    Secrets that this user may not see become variables, which are named.
    """
    from headrace.cli.plan.exported import text_of

    found = [_exported(session, current) for current in _chosen(session, names)]
    if directory is not None:
        for each in found:
            _write(directory / f"{file_name(each.name)}.{form}", text_of([each], form))
            session.say(f"Connector {each.name} is in {directory / file_name(each.name)}.{form}")
    elif form is Format.PROPERTIES and len(found) != 1:
        raise ArgumentError("A file of properties has one connector: name it, or a directory with -d")
    elif found:
        typer.echo(text_of(found, form), nl=False)
    for each in found:
        _say_what_is_missing(session, each, form)


def file_name(connector: str) -> str:
    """Return a name of a file for a connector, without its suffix."""
    name = quote(connector, safe=" @+,=()[]")
    name = f"%2E{name[1:]}" if name.startswith(".") else name
    if len(name) <= _LONGEST_NAME:
        return name
    from hashlib import sha256

    return f"{name[:_LONGEST_NAME]}-{sha256(connector.encode()).hexdigest()[:12]}"


def _chosen(session: Session, names: list[str] | None) -> Sequence[Current]:
    from headrace.cli.plan.cluster_state import read_cluster

    found = read_cluster(session.api)
    if missing := [name for name in names or () if name not in found]:
        raise CtlError(f"Connector {missing[0]} not found", ExitCode.NOT_FOUND, near_name(missing[0], found))
    return [current for name, current in found.items() if not names or name in names]


def _exported(session: Session, current: Current) -> Exported:
    from headrace.cli.plan.differences import HIDDEN
    from headrace.cli.plan.exported import exported

    passwords: frozenset[str] | None = frozenset()
    if any(text and text.strip() == HIDDEN for text in current.config.values()):
        from headrace.cli.plan.validation import passwords_of

        passwords = passwords_of(session.api, current.config)
    return exported(current, lambda key: passwords is None or key in passwords)


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _FOR_OWNER)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as opened:
            opened.write(text)
    except OSError as error:
        raise CtlError(f"{file} cannot be written: {error.strerror or error}") from error


def _say_what_is_missing(session: Session, connector: Exported, form: Format) -> None:
    for key, variable in connector.hidden.items():
        session.say(f"Connector {connector.name}: {key} has a secret that is not shown; set the variable {variable}")
    if form is Format.PROPERTIES and connector.state.value != "RUNNING":
        session.say(f"Connector {connector.name} is {connector.state.value}, which a file of properties cannot say")
