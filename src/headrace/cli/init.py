# SPDX-License-Identifier: Apache-2.0
"""`headrace init`: the first files of a worker."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import typer

from headrace.api.errors import ConfigError
from headrace.cli.console import one_line_errors
from headrace.cli.init_templates import CONNECTOR, SYSTEMD_UNIT, WORKER_PROPERTIES

_PROPERTIES: Final = "worker.properties"
_CONNECTOR: Final = "connector.json"
_UNIT: Final = "headrace.service"
_FOR_OWNER_AND_GROUP: Final = 0o640


def init(
    directory: Annotated[Path, typer.Argument(help="Where to write; it is created.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
) -> None:
    """Write a worker's properties, a connector and a systemd unit, which work as they are, and say how to use them."""
    with one_line_errors():
        files = contents(directory.absolute())
        _write(files, force)
    for file in files:
        typer.echo(f"wrote {file}")
    properties, connector, _ = (shlex.quote(str(file)) for file in files)
    typer.echo("\nNext (headrace broker runs a broker for development):\n")
    typer.echo(f"  headrace doctor {properties}")
    typer.echo(f"  headrace distributed {properties}")
    typer.echo(f"  headrace connectors create -f {connector} --wait")


def contents(directory: Path) -> Mapping[Path, str]:
    """Return the files for a directory, and their contents."""
    properties = directory / _PROPERTIES
    unit = SYSTEMD_UNIT.format(command=_command(), properties=_quoted(str(properties)))
    return {properties: WORKER_PROPERTIES, directory / _CONNECTOR: CONNECTOR, directory / _UNIT: unit}


def _write(files: Mapping[Path, str], force: bool) -> None:
    existing = [str(file) for file in files if file.exists()]
    if existing and not force:
        raise ConfigError(f"These files exist: {', '.join(existing)}. Use --force to overwrite them")
    for file, text in files.items():
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch(_FOR_OWNER_AND_GROUP)
            file.write_text(text)
        except OSError as error:
            raise ConfigError(f"{file} cannot be written: {error.strerror or error}") from error


def _command() -> str:
    """Return how systemd starts this installation's headrace."""
    program = Path(sys.executable).with_name("headrace")
    return _quoted(str(program)) if program.exists() else f"{_quoted(sys.executable)} -m headrace"


def _quoted(path: str) -> str:
    """Return a path as systemd reads it in a command: % and $ are doubled."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if " " in escaped else escaped
