# SPDX-License-Identifier: Apache-2.0
"""`headrace singer`: taps and targets of Singer on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.console import examples, one_line_errors

singer = typer.Typer(
    name="singer", help="Singer's taps and targets, each in an environment of its own.", no_args_is_help=True
)


@singer.command(
    epilog=examples(
        "headrace singer install target-jsonl==0.1.4",
        "headrace singer install meltanolabs-tap-postgres --name tap-postgres",
        "headrace singer install target-jsonl==0.1.4 --lock requirements.lock",
    )
)
def install(
    package: Annotated[str, typer.Argument(help="The package, as pip names it.", show_default=False)],
    name: Annotated[
        str | None, typer.Option(help="The name for connectors; by default the package's.", show_default=False)
    ] = None,
    lock: Annotated[
        Path | None,
        typer.Option(help="The requirements.lock of another machine, whose versions to install.", show_default=False),
    ] = None,
) -> None:
    """Install a tap or target into a virtual environment of its own, in place of a former version."""
    from headrace.plugins.singer_environments import install as install_environment

    with one_line_errors():
        made = install_environment(package, name, lock=lock)
    version = f" {made.version}" if made.version else ""
    typer.echo(f"{made.name}{version} is installed, with {', '.join(made.executables)}")


@singer.command("ls", epilog=examples("headrace singer ls", "headrace singer ls --locked"))
def list_installed(
    locked: Annotated[bool, typer.Option("--locked", help="With all packages of each.")] = False,
) -> None:
    """List the taps and targets that are installed on this machine, with versions and executables."""
    from headrace.plugins.singer_environments import installed

    with one_line_errors():
        found = installed()
    for each in found:
        typer.echo(f"{each.name}  {each.version or each.request}  {', '.join(each.executables)}")
        if locked:
            typer.echo("".join(f"  {line}\n" for line in each.lock.splitlines()), nl=False)


@singer.command(epilog=examples("headrace singer rm tap-postgres", "headrace singer rm target-jsonl"))
def rm(
    name: Annotated[str, typer.Argument(help="The name that ls shows.", show_default=False)],
) -> None:
    """Remove a tap or target from this machine."""
    from headrace.plugins.singer_environments import remove

    with one_line_errors():
        remove(name)
    typer.echo(f"{name} is removed")
