# SPDX-License-Identifier: Apache-2.0
"""`headrace plugins` and `headrace config validate`: plugins, their properties, and a configuration's mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from headrace.cli.ctl.command import Session, command
from headrace.cli.ctl.connector_changes import File, read_file
from headrace.cli.ctl.ctl_error import ArgumentError, CtlError
from headrace.cli.ctl.output import View
from headrace.cli.ctl.plugin_store import Inside, Worker, add_store_commands, list_installed
from headrace.cli.ctl.rest_api import path
from headrace.cli.ctl.statuses import NONE

plugins = typer.Typer(name="plugins", help="Plugins of the workers, and their properties.", no_args_is_help=True)
config = typer.Typer(name="config", help="Configurations of connectors.", no_args_is_help=True)

_CLASS = "connector.class"


@command(plugins, "ls", "headrace plugins ls", "headrace plugins ls --all -o json", output=True)
def list_plugins(
    session: Session,
    everything: Annotated[bool, typer.Option("--all", help="Also converters, transformations and predicates.")] = False,
    installed: Annotated[
        bool, typer.Option("--installed", help="Those that are installed on this machine, with no worker.")
    ] = False,
    inside: Inside = None,
    worker: Worker = None,
) -> None:
    """List the connectors that can be created."""
    if installed:
        list_installed(inside, worker, session.output)
        return
    if inside is not None or worker is not None:
        raise ArgumentError("--in and --worker go with --installed")
    found = session.api.get("/connector-plugins", connectorsOnly="false" if everything else "true")
    rows = [(each["class"], each["type"], each.get("version") or NONE) for each in found]
    session.show(View(found, [each["class"] for each in found], ("CLASS", "TYPE", "VERSION"), rows))


@command(
    plugins,
    "describe",
    "headrace plugins describe FileStreamSource",
    "headrace plugins describe Cast -o json",
    output=True,
)
def describe(session: Session, plugin: Annotated[str, typer.Argument(help="Its class.", show_default=False)]) -> None:
    """Show the properties of a plugin."""
    found = session.api.get(path("connector-plugins", plugin, "config"))
    rows = [_property(each) for each in found]
    headings = ("PROPERTY", "TYPE", "DEFAULT", "IMPORTANCE", "DOCUMENTATION")
    session.show(View(found, [each["name"] for each in found], headings, rows))


def _property(key: dict[str, Any]) -> tuple[str, ...]:
    default = "(required)" if key.get("required") else key.get("default_value")
    text = NONE if default is None else str(default)
    return key["name"], key["type"], text, key.get("importance") or NONE, key.get("documentation") or ""


@command(
    config,
    "validate",
    "headrace config validate -f orders.json",
    "headrace config validate -f orders.properties -o json",
    output=True,
)
def validate(session: Session, file: File) -> None:
    """Check a connector's configuration without creating it. Exit code 1 if it has mistakes."""
    found = read_file(file)
    name = found.config.get(_CLASS)
    if not name:
        raise CtlError(f"{file} lacks the property {_CLASS}")
    answer = session.api.send("PUT", path("connector-plugins", name, "config", "validate"), dict(found.config))
    mistakes = list(_mistakes(answer))
    rows = [*mistakes, *(("", f"warning: {text}") for text in answer.get("warnings") or ())]
    session.show(View(answer, [key for key, _ in mistakes], ("PROPERTY", "MISTAKE"), rows))
    if mistakes:
        raise CtlError(f"The configuration of {found.name} is not valid, mistakes: {len(mistakes)}")
    session.say(f"The configuration of {found.name} is valid")


def _mistakes(answer: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for each in answer["configs"]:
        value = each.get("value") or {}
        for text in value.get("errors") or ():
            yield value["name"], text


add_store_commands(plugins)
