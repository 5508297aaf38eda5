# SPDX-License-Identifier: Apache-2.0
"""`headrace audit`: checks audit logs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

audit = typer.Typer(
    name="audit", help="The record of decisions about requests (rest.audit.file).", no_args_is_help=True
)

_SHOWN: Final = 20


@audit.callback()
def _group() -> None:
    """Keep the name of the command necessary, though it is the only one."""


@audit.command()
def verify(
    file: Annotated[Path, typer.Argument(help="A file of rest.audit.file.", show_default=False)],
) -> None:
    """Check that no line was changed, removed or inserted, in a file that was written with rest.audit.chain=true.

    Exit code 1 if one was, or if the file cannot be read.
    """
    from headrace.rest.access.audit_log import broken_lines

    try:
        broken = broken_lines(str(file))
    except OSError as error:
        typer.echo(f"{file} cannot be read: {error.strerror}", err=True)
        raise typer.Exit(1) from error
    if broken:
        more = f" and {len(broken) - _SHOWN} more" if len(broken) > _SHOWN else ""
        typer.echo(f"{file}: the chain is broken before line {', '.join(map(str, broken[:_SHOWN]))}{more}", err=True)
        raise typer.Exit(1)
    typer.echo(f"{file}: the chain is whole")
