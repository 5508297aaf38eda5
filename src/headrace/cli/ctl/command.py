# SPDX-License-Identifier: Apache-2.0
"""Makes a command of a function: the options that all have, the worker's API, and errors in one or two lines."""

from __future__ import annotations

import errno
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Final, get_type_hints

import typer

from headrace.api.error_text import error_text
from headrace.api.errors import ConfigError, ConnectError
from headrace.cli.console import examples
from headrace.cli.ctl.address import find_address, login_of
from headrace.cli.ctl.ctl_error import CtlError, ExitCode
from headrace.cli.ctl.output import Output, View, show
from headrace.cli.ctl.rest_api import path
from headrace.logs.formats import escaped

if TYPE_CHECKING:
    from headrace.cli.ctl.rest_api import RestApi

Url = Annotated[str | None, typer.Option("--url", help="Address of a worker's REST API.", show_default=False)]
ContextName = Annotated[
    str | None, typer.Option("--context", help="A context, see: headrace context ls.", show_default=False)
]
OutputOption = Annotated[Output, typer.Option("--output", "-o", help="For people, or for programs.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]

_WORKER_OPTIONS: Final = {"url": (Url, None), "context": (ContextName, None)}
_OUTPUT: Final = {"output": (OutputOption, Output.TABLE)}
_TIMEOUT_S: Final = 2.0


class Session:
    """The API of a command's worker, opened when it is first used, and its output."""

    def __init__(self, url: str | None, context: str | None, output: Output) -> None:
        self._url = url
        self._context = context
        self.output = output

    @cached_property
    def api(self) -> RestApi:
        from headrace.cli.ctl.rest_api import RestApi

        address = find_address(self._url, self._context)
        return RestApi(address, login_of(address))

    def show(self, view: View) -> None:
        """Print an answer to stdout, as the user wants it."""
        show(view, self.output)

    def say(self, message: str) -> None:
        """Print a message to stderr."""
        typer.echo(escaped(message), err=True)

    def confirm(self, question: str, yes: bool) -> None:
        """Ask, unless ``yes``; end the command unless the answer is yes."""
        if not yes:
            ask(escaped(question))

    def check_connectors(self, names: Sequence[str]) -> None:
        """Raise CtlError for a name that no connector has."""
        for name in names:
            self.api.get(path("connectors", name))

    def check_headrace(self, command: str) -> None:
        """Raise CtlError unless the worker is one of headrace's: Kafka Connect's REST API lacks what is asked for."""
        about = self.api.get("/")
        if "headrace_version" not in about:
            text = (
                f"{command} needs a headrace worker, and this is one of Kafka Connect, version {about.get('version')}"
            )
            raise CtlError(text, remedy="Kafka Connect's REST API has no such request")

    @contextmanager
    def errors_of_other_servers(self) -> Iterator[None]:
        """Turn an error about the shape of an answer into a CtlError, if the answer is of no worker."""
        try:
            yield
        except (AttributeError, LookupError, TypeError) as error:
            if "api" in self.__dict__ and not self.api.is_worker():
                raise self.api.not_a_worker() from error
            raise

    def close(self) -> None:
        if "api" in self.__dict__:
            self.api.close()


def command(
    app: typer.Typer, name: str, *shown: str, output: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds a function to ``app`` as the command ``name``.

    The function takes a Session, then what its own options and arguments are; --url and --context are added to them,
    and -o if ``output``. Its help page ends with the examples that are ``shown``.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        added = {**_WORKER_OPTIONS, **(_OUTPUT if output else {})}

        def run(**given: Any) -> None:
            common = {option: given.pop(option, default) for option, (_, default) in _ALL_OPTIONS.items()}
            with errors_in_lines():
                session = Session(**common)
                try:
                    with session.errors_of_other_servers():
                        function(session, **given)
                finally:
                    session.close()

        _describe(run, function, added)
        app.command(name, epilog=examples(*shown))(run)
        return function

    return decorate


_ALL_OPTIONS: Final = {**_WORKER_OPTIONS, **_OUTPUT}


def _describe(run: Callable[..., None], function: Callable[..., None], added: dict[str, tuple[Any, Any]]) -> None:
    """Give ``run`` the name, the help and the parameters of ``function``, and those that are added."""
    hints = get_type_hints(function, include_extras=True)
    own = list(inspect.signature(function).parameters.values())[1:]
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [each.replace(annotation=hints[each.name], kind=kind) for each in own]
    parameters += [inspect.Parameter(key, kind, annotation=hint, default=it) for key, (hint, it) in added.items()]
    run.__name__, run.__doc__ = function.__name__, function.__doc__
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]


@contextmanager
def errors_in_lines() -> Iterator[None]:
    """Print an error on stderr, and what to do about it on a second line; end with its exit code."""
    try:
        yield
    except OSError as error:  # of stdout: a full disk
        if error.errno == errno.EPIPE:
            raise
        typer.echo(f"Error: {error.strerror or error}", err=True)
        raise typer.Exit(ExitCode.ERROR) from error
    except ConnectError as error:
        typer.echo(f"Error: {escaped(' '.join(error_text(error).split()))}", err=True)
        if isinstance(error, CtlError) and error.remedy is not None:
            typer.echo(error.remedy, err=True)
        raise typer.Exit(_exit_code(error)) from error


def ask(question: str) -> None:
    """Ask on stderr; end the command unless the answer is yes. Raise CtlError if stdin gives no answer."""
    try:
        agreed = typer.confirm(question, err=True)
    except typer.Abort:  # Ctrl-C, or the end of what is no terminal
        if sys.stdin.isatty():
            raise
        typer.echo(err=True)
        raise CtlError("There is no answer on stdin", remedy="To do it without a question: --yes") from None
    if not agreed:
        raise typer.Abort


def _exit_code(error: ConnectError) -> int:
    """Return the exit code of an error; one about a file of properties, which workers read too, is a ConfigError."""
    if isinstance(error, CtlError):
        return error.code
    return ExitCode.INVALID_ARGUMENT if isinstance(error, ConfigError) else ExitCode.ERROR


def connector_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the connectors that begin with a text; none where no worker answers soon, or a password is missing."""
    from headrace.cli.ctl.rest_api import RestApi

    try:
        address = find_address(ctx.params.get("url"), ctx.params.get("context"))
        settings = address.settings
        if "username" in settings and not any(key.startswith(("password", "token")) for key in settings):
            return []
        api = RestApi(address, login_of(address), timeout=_TIMEOUT_S)
        try:
            names: list[str] = api.get("/connectors")
        finally:
            api.close()
    except ConnectError:
        return []
    return [name for name in names if name.startswith(incomplete)]


Connector = Annotated[
    str, typer.Argument(help="The connector's name.", show_default=False, autocompletion=connector_names)
]
OptionalConnector = Annotated[
    str | None, typer.Argument(help="The connector's name.", show_default=False, autocompletion=connector_names)
]
Connectors = Annotated[
    list[str], typer.Argument(help="Connectors' names.", show_default=False, autocompletion=connector_names)
]
SomeConnectors = Annotated[
    list[str] | None,
    typer.Argument(help="Connectors; all by default.", show_default=False, autocompletion=connector_names),
]
