# SPDX-License-Identifier: Apache-2.0
"""The worker that a command talks to, and the login there: one order of precedence for all commands."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from getpass import GetPassWarning
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

import typer

from headrace.cli.ctl.contexts import VERIFY, Contexts, Settings, load_contexts
from headrace.cli.ctl.ctl_error import ArgumentError, CtlError, read_text

DEFAULT_URL: Final = "http://127.0.0.1:8083"
URL_VARIABLE: Final = "HEADRACE_URL"


@dataclass(frozen=True, slots=True)
class Address:
    """A worker's URL without user and final slash, the login's settings, and where the URL was found."""

    url: str
    settings: Settings
    source: str


@dataclass(frozen=True, slots=True)
class Login:
    """A user with a password, or a bearer token, or neither."""

    user: tuple[str, str] | None = None
    token: str | None = None


def find_address(url: str | None, context: str | None) -> Address:
    """Return the first of: ``--url`` or ``--context``, ``HEADRACE_URL``, the current context, the default.

    An address that is no context's has no login but the user in its URL: a context's secrets go to its own address
    alone. Raise CtlError for --url together with --context, an unknown context, or an invalid URL.
    """
    if url and context:
        raise ArgumentError("--url and --context cannot both be given: each names a worker")
    if url:
        return _of_url(url, "--url")
    if context:
        return _of_context(load_contexts(), context)
    if given := os.environ.get(URL_VARIABLE):
        return _of_url(given, URL_VARIABLE)
    contexts = load_contexts()
    if contexts.current is not None:
        return _of_context(contexts, contexts.current)
    return Address(DEFAULT_URL, {}, "the default")


def login_of(address: Address) -> Login:
    """Return the login at an address; ask for a password that is not known."""
    token = _secret(address, "token")
    username = address.settings.get("username")
    if token is not None or not isinstance(username, str):
        return Login(token=token)
    password = _secret(address, "password")
    if password is None:
        password = _asked_password(username, address)
    return Login((username, password))


def _asked_password(username: str, address: Address) -> str:
    """Ask for a password. Raise CtlError where no terminal can hide it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", GetPassWarning)
        try:
            return str(typer.prompt(f"Password of {username} at {address.url}", hide_input=True, err=True))
        except GetPassWarning as error:
            typer.echo(err=True)
            raise CtlError(
                f"There is no terminal to ask for the password of {username} ({address.source})",
                remedy="Name where it is: headrace context set NAME --password-env VARIABLE or --password-file FILE",
            ) from error


def check_url(url: str, source: str) -> None:
    """Raise CtlError for what is no URL of a worker."""
    _of_url(url, source)


def _of_context(contexts: Contexts, name: str) -> Address:
    settings = contexts.get(name)
    found = _of_url(str(settings.get("url", DEFAULT_URL)), f"context {name}")
    return Address(found.url, {**found.settings, **settings}, found.source)


def _of_url(url: str, source: str) -> Address:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise ArgumentError(f"Invalid URL '{url}' ({source})", remedy=f"Expected is an address such as {DEFAULT_URL}")
    login = {"username": parts.username, "password": parts.password}
    settings: dict[str, str | bool] = {key: unquote(text) for key, text in login.items() if text is not None}
    host = parts.netloc.rpartition("@")[2]
    return Address(urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", "")), settings, source)


def _secret(address: Address, name: str) -> str | None:
    """Return a secret that is written, or in an environment variable, or in a file; None if none is named."""
    settings, where = address.settings, f"{address.source}, {name}"
    if variable := settings.get(f"{name}_env"):
        if (value := os.environ.get(str(variable))) is None:
            raise ArgumentError(f"The environment variable {variable} is not set ({where}_env)")
        return value
    if path := settings.get(f"{name}_file"):
        return read_text(Path(str(path)).expanduser(), f"{where}_file").strip()
    written = settings.get(name)
    return written if isinstance(written, str) else None


def verifies(settings: Settings) -> bool:
    """Return False if the user has said not to verify the worker's certificate."""
    return settings.get(VERIFY, True) is not False
