# SPDX-License-Identifier: Apache-2.0
"""`headrace plugins install`, `remove` and `ls --installed`: plugins on this machine, for which no worker runs.

They are in Java, or taps and targets of Singer (`singer_store`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from headrace.cli.console import examples
from headrace.cli.ctl.command import OutputOption, Yes, ask, errors_in_lines
from headrace.cli.ctl.ctl_error import ArgumentError, CtlError, ExitCode, near_name
from headrace.cli.ctl.output import Output, View, show
from headrace.cli.ctl.singer_store import PREFIX, install_singer, listed_singer, remove_singer

if TYPE_CHECKING:
    from headrace.java.store import Installed, PluginStore

Worker = Annotated[
    Path | None,
    typer.Option("--worker", help="A worker's properties, for the first directory of its plugin.path.",
                 show_default=False),
]  # fmt: skip
Into = Annotated[
    Path | None, typer.Option("--into", help="The directory; by default one of the user's.", show_default=False)
]
Inside = Annotated[
    Path | None, typer.Option("--in", help="The directory; by default one of the user's.", show_default=False)
]
_COORDINATE: Final = "io.debezium:debezium-connector-postgres:3.3.1.Final"
_LISTED: Final = ("PLUGIN", "CLASS", "TYPE", "VERSION")


def add_store_commands(plugins: typer.Typer) -> None:
    """Add the commands to the group `headrace plugins`."""
    plugins.command(
        "install",
        epilog=examples(
            f"headrace plugins install {_COORDINATE}",
            "headrace plugins install jdbc.zip --with com.ibm.db2:jcc:11.5.9.0",
            "headrace plugins install jdbc.zip --into plugins",
            "headrace plugins install singer:target-jsonl==0.1.4",
        ),
    )(install)
    plugins.command(
        "remove", epilog=examples("headrace plugins remove jdbc", "headrace plugins remove jdbc --in plugins --yes")
    )(remove)


def install(
    source: Annotated[
        str | None,
        typer.Argument(
            help="group:name:version of Maven, an archive, directory or URL; singer: and a package, as pip names it.",
            show_default=False,
        ),
    ] = None,
    into: Into = None,
    worker: Worker = None,
    more: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            help="group:name:version of what the plugin finds only when it runs, such as a driver. May be repeated.",
            show_default=False,
        ),
    ] = None,
    locked: Annotated[bool, typer.Option("--locked", help="Install what plugins.lock lists, just so.")] = False,
    name: Annotated[
        str | None,
        typer.Option(help="Of singer: only, the name for connectors; by default the package's.", show_default=False),
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Install a Java plugin with what it needs into a directory of plugin.path, or a tap or target of Singer.

    The file plugins.lock there has the SHA-256 of each jar. Workers find a plugin when they are started.
    A tap or target gets a virtual environment of its own, as by headrace singer install.
    """
    from headrace.java.jvm import runtime_jars
    from headrace.java.maven import is_coordinate

    with errors_in_lines():
        if (source is None) is not locked:
            raise ArgumentError("Give either what to install, or --locked")
        if more and locked:
            raise ArgumentError("--with is not for --locked: plugins.lock has what each plugin is installed with")
        if source is not None and source.startswith(PREFIX):
            if into is not None or worker is not None or more:
                raise ArgumentError("--into, --worker and --with are not for taps and targets of Singer")
            _show([install_singer(source, name)], output)
            return
        if name is not None:
            raise ArgumentError("--name is for taps and targets of Singer")
        store = store_of(into, worker)
        made = [store.install(source, _progress, more or ())] if source is not None else store.install_locked(_progress)
        if source is not None and is_coordinate(source):
            runtime_jars(_progress)  # else the first connector waits for them
        show_installed(made, output)
        for each in made:
            typer.echo(f"{each.name} is in {each.directory}", err=True)
        if worker is None:
            typer.echo(f"Workers find it after a restart, with plugin.path={store.directory}", err=True)


def remove(
    name: Annotated[str, typer.Argument(help="The plugin's name, see: ls --installed.", show_default=False)],
    inside: Inside = None,
    worker: Worker = None,
    yes: Yes = False,
) -> None:
    """Remove a plugin that was installed. Workers that run use one in Java until they are stopped."""
    with errors_in_lines():
        if name.startswith(PREFIX):
            if inside is not None or worker is not None:
                raise ArgumentError("--in and --worker are not for taps and targets of Singer")
            remove_singer(name, yes)
            typer.echo(f"{name} is removed", err=True)
            return
        store = store_of(inside, worker)
        known = [each.name for each in store.installed()]
        if name not in known:
            raise CtlError(
                f"No plugin {name} is installed in {store.directory}", ExitCode.NOT_FOUND, near_name(name, known)
            )
        if not yes:
            ask(f"Remove plugin {name} from {store.directory}?")
        store.remove(name)
        typer.echo(f"Plugin {name} is removed from {store.directory}", err=True)


def list_installed(inside: Path | None, worker: Path | None, output: Output) -> None:
    """Print the plugins that are installed, and a warning for jars that are not those that were installed.

    Without a directory these are the user's own, with the taps and targets of Singer.
    """
    store = store_of(inside, worker)
    found = store.installed()
    _show(_listed(found) + (listed_singer() if inside is None and worker is None else []), output)
    for each in found:
        if jars := store.damaged(each.name):
            typer.echo(f"Warning: {each.name} is not as it was installed: {', '.join(jars)}", err=True)


def show_installed(found: Sequence[Installed], output: Output) -> None:
    _show(_listed(found), output)


def _listed(found: Sequence[Installed]) -> list[dict[str, Any]]:
    return [
        {
            "name": plugin.name,
            "source": plugin.source,
            "with": list(plugin.more),
            "directory": str(plugin.directory),
            "plugins": [
                {"class": each.class_name, "type": each.kind.value, "version": each.version} for each in plugin.provides
            ],
        }
        for plugin in found
    ]


def _show(listed: list[dict[str, Any]], output: Output) -> None:
    rows = [
        (plugin["name"] if not number else "", each["class"], each["type"], each["version"])
        for plugin in listed
        for number, each in enumerate(plugin["plugins"])
    ]
    show(View(listed, [plugin["name"] for plugin in listed], _LISTED, rows), output)


def store_of(directory: Path | None, worker: Path | None) -> PluginStore:
    """Return the store that the options name. ArgumentError, ConfigError."""
    from headrace.java.store import PluginStore

    if directory is not None and worker is not None:
        raise ArgumentError("Give either a directory or --worker")
    if worker is not None:
        directory = _directory_of(worker)
    if directory is None:
        from platformdirs import user_data_path

        directory = user_data_path("headrace") / "plugins"
    return PluginStore(directory)


def _directory_of(worker: Path) -> Path:
    from headrace.config.properties_file import read_properties
    from headrace.config.worker_config import PLUGIN_PATH
    from headrace.plugins.discovery import comma_separated

    listed = comma_separated(read_properties(worker).get(PLUGIN_PATH))
    for each in listed:
        if os.path.isdir(each) and os.access(each, os.W_OK | os.X_OK):
            return Path(each)
    reason = f"of {PLUGIN_PATH} ({', '.join(listed)}) you can write to none" if listed else f"it has no {PLUGIN_PATH}"
    raise ArgumentError(f"{worker} names no directory for plugins: {reason}", "Give a directory with --into")


def _progress(name: str) -> None:
    typer.echo(f"Downloading {name}", err=True)
