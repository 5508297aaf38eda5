# SPDX-License-Identifier: Apache-2.0
"""`headrace context`: the clusters that the user works with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.console import examples
from headrace.cli.ctl.address import DEFAULT_URL, check_url
from headrace.cli.ctl.command import OutputOption, Yes, ask, errors_in_lines
from headrace.cli.ctl.contexts import FILES, SECRETS, VERIFY, Settings, load_contexts, save_contexts
from headrace.cli.ctl.output import Output, View, show

context = typer.Typer(name="context", help="Addresses and logins of clusters, by names.", no_args_is_help=True)

Name = Annotated[
    str,
    typer.Argument(
        help="The context's name.",
        show_default=False,
        autocompletion=lambda incomplete: [name for name in load_contexts().by_name if name.startswith(incomplete)],
    ),
]
_HIDDEN = "(hidden)"


@context.command("ls", epilog=examples("headrace context ls", "headrace context ls -o json"))
def list_contexts(output: OutputOption = Output.TABLE) -> None:
    """List the contexts; * is the current one. Secrets are not shown."""
    with errors_in_lines():
        contexts = load_contexts()
        shown = {name: _without_secrets(settings) for name, settings in sorted(contexts.by_name.items())}
        rows = [
            (
                "*" if name == contexts.current else "",
                name,
                str(each.get("url", DEFAULT_URL)),
                str(each.get("username", "")),
            )
            for name, each in shown.items()
        ]
        data = {"current": contexts.current, "contexts": shown}
        show(View(data, list(shown), ("", "NAME", "URL", "USER"), rows), output)


@context.command("use", epilog=examples("headrace context use production", "headrace context use local"))
def use(name: Name) -> None:
    """Make a context the current one."""
    with errors_in_lines():
        save_contexts(load_contexts().using(name))
        typer.echo(f"The context is {name}", err=True)


@context.command("delete", epilog=examples("headrace context delete old", "headrace context delete old --yes"))
def delete(name: Name, yes: Yes = False) -> None:
    """Delete a context."""
    with errors_in_lines():
        remaining = load_contexts().without(name)
        if not yes:
            ask(f"Delete context {name}?")
        save_contexts(remaining)
        typer.echo(f"Context {name} is deleted", err=True)


@context.command(
    "set",
    epilog=examples(
        "headrace context set local --url http://127.0.0.1:8083",
        "headrace context set test --url https://h:8083 --username ann --ca ca.pem",
    ),
)
def set_context(
    name: Name,
    url: Annotated[str | None, typer.Option(help="Address of a worker.", show_default=False)] = None,
    username: Annotated[str | None, typer.Option(help="For basic authentication.", show_default=False)] = None,
    password_env: Annotated[str | None, typer.Option(help="Variable with the password.", show_default=False)] = None,
    password_file: Annotated[str | None, typer.Option(help="File with the password.", show_default=False)] = None,
    token_env: Annotated[str | None, typer.Option(help="Variable with a bearer token.", show_default=False)] = None,
    token_file: Annotated[str | None, typer.Option(help="File with a bearer token.", show_default=False)] = None,
    ca: Annotated[str | None, typer.Option(help="PEM file: who may sign certificates.", show_default=False)] = None,
    certificate: Annotated[str | None, typer.Option(help="PEM file of this client.", show_default=False)] = None,
    key: Annotated[str | None, typer.Option(help="PEM file of its private key.", show_default=False)] = None,
    verify: Annotated[
        bool | None, typer.Option(help="Whether to verify the worker's certificate.", show_default=False)
    ] = None,
) -> None:
    """Add a context, or change what is given; an empty text removes a setting. The first one is the current one.

    A password that is nowhere is asked for by each command.
    """
    given: dict[str, str | bool | None] = {
        "url": url,
        "username": username,
        "password_env": password_env,
        "password_file": password_file,
        "token_env": token_env,
        "token_file": token_file,
        "ca": ca,
        "certificate": certificate,
        "key": key,
        VERIFY: verify,
    }
    with errors_in_lines():
        if url:
            check_url(url, "--url")
        contexts = load_contexts()
        changed = {key: _absolute(key, value) for key, value in given.items() if value is not None}
        settings = {**contexts.by_name.get(name, {}), **changed}
        file = save_contexts(contexts.with_settings(name, {key: text for key, text in settings.items() if text != ""}))
        typer.echo(f"Context {name} is in {file}", err=True)


def _absolute(key: str, value: str | bool) -> str | bool:
    """Return a setting; a file's path without the directory that the user is in, which is another one later."""
    if key in FILES and isinstance(value, str) and value:
        return str(Path(value).expanduser().absolute())
    return value


def _without_secrets(settings: Settings) -> Settings:
    return {key: _HIDDEN if key in SECRETS else value for key, value in settings.items()}
