# SPDX-License-Identifier: Apache-2.0
"""Answers about connectors as those are to see them who may not change them: without secrets.

What is a secret shows by the plugins' definitions, by names and by the shape of values. A trace of a failure may tell
one too, so the values are left out of whatever text there is.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Set
from typing import Any, Final

from headrace.api.config_def import Type
from headrace.api.errors import ConnectError
from headrace.herder.herder import Herder
from headrace.rest.access.access import Access
from headrace.rest.access.operations import Role
from headrace.rest.access.rules import CLASS, CONVERTERS, steps_of
from headrace.rest.request_handler import RequestHandler

HIDDEN: Final = "[hidden]"
_NAME: Final = re.compile(
    r"(?i)pass(word|wd|phrase|code)|pwd|secret|token|credential|jaas|private|keytab|authori[sz]ation|basic\.auth"
    r"|user\.info|(api|access|account|encryption|shared|sas|ssl|keystore)[._-]?key($|[._-])|certificate\.chain"
)
_PAIR: Final = re.compile(
    r"(?i)(?:pass(?:word|wd|phrase)?|secret|token|pwd|sig|(?:account|access|api|shared)[._-]?key)\s*=\s*\"?([^\"\s;&,]*)"
)
_LOGIN: Final = re.compile(r"://[^/@\s:]*:([^@\s]+)@")
_LONG_LOGIN: Final = re.compile(r"://[^/@\s:]*:(\S+)@")
"""For a password with an @ in it."""
_HEADER: Final = re.compile(r"(?i)^\s*(?:bearer|basic)\s+(\S+)")
_PEM: Final = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----([^-]*)")
_SHAPES: Final = (_PAIR, _LOGIN, _LONG_LOGIN, _HEADER, _PEM)
_REFERENCES: Final = re.compile(r"(\$\{[^{}]*\})+")
_SHORTEST: Final = 4
"""Characters of a value that is looked for in texts: fewer are in any text, and no secret."""
_REMEMBERED: Final = 256
_BROKEN_SECONDS: Final = 60.0
_CONFIG: Final = "config"

Config = Mapping[str, str | None]


class HiddenSecrets:
    """Leaves secrets out of answers. Used on the server's event loop only."""

    def __init__(self, herder: Herder, handler: RequestHandler, clock: Callable[[], float] = time.monotonic) -> None:
        self._herder = herder
        self._handler = handler
        self._clock = clock
        self._passwords: dict[str, tuple[frozenset[str], float]] = {}
        """By class, the properties of the type PASSWORD, and until when that holds."""

    async def of(self, access: Access, connector: str, answer: Any) -> Any:
        """The JSON of an answer about a connector, as the user may see it. NotFoundError if it is not there."""
        if access.may(Role.EDITOR, connector):
            return answer
        config = self._herder.connector_info(connector).config
        passwords = await self._passwords_of(config)
        return _without(answer, passwords, secrets_of(config, passwords))

    async def _passwords_of(self, config: Config) -> frozenset[str]:
        prefixes = {CLASS: "", **{name: f"{name}." for name in CONVERTERS}}
        prefixes |= {f"{step}.type": f"{step}." for step in steps_of(config)}
        found: set[str] = set()
        for name, prefix in prefixes.items():
            if plugin := (config.get(name) or "").strip():
                found.update(prefix + key for key in await self._passwords_in(plugin))
        return frozenset(found)

    async def _passwords_in(self, plugin: str) -> frozenset[str]:
        """None of a plugin that is gone or broken, for a minute: names and shapes are to do then."""
        known, end = self._passwords.get(plugin, (frozenset(), 0.0))
        if self._clock() < end:
            return known
        try:
            keys = await self._handler.complete(self._herder.connector_plugin_config(plugin))
        except ConnectError:
            found, end = frozenset[str](), self._clock() + _BROKEN_SECONDS
        else:
            found, end = frozenset(key.name for key in keys if key.type == Type.PASSWORD.value), math.inf
        if len(self._passwords) >= _REMEMBERED:
            self._passwords.clear()
        self._passwords[plugin] = found, end
        return found


def secrets_of(config: Config, passwords: Set[str]) -> list[str]:
    """The values that must turn up nowhere, the longest first, and the parts of values that are secrets alone."""
    hidden = {text for name, text in config.items() if text and _is_hidden(name, text, passwords)}
    found = {each.strip() for text in hidden for each in (text, *_parts(text))}
    return sorted((text for text in found if len(text) >= _SHORTEST), key=len, reverse=True)


def _parts(text: str) -> Iterator[str]:
    for shape in _SHAPES:
        yield from shape.findall(text)


def _is_hidden(name: str, text: str, passwords: Set[str]) -> bool:
    """References to config providers are no secrets."""
    if _REFERENCES.fullmatch(text):
        return False
    return name in passwords or _NAME.search(name) is not None or any(shape.search(text) for shape in _SHAPES)


def _without(answer: Any, passwords: Set[str], secrets: Collection[str]) -> Any:
    if isinstance(answer, Mapping):
        return {
            key: _masked(value, passwords, secrets) if key == _CONFIG else _without(value, passwords, secrets)
            for key, value in answer.items()
        }
    if isinstance(answer, list | tuple):
        return [_without(value, passwords, secrets) for value in answer]
    return _cleaned(answer, secrets) if isinstance(answer, str) else answer


def _masked(config: Config, passwords: Set[str], secrets: Collection[str]) -> dict[str, str | None]:
    return {
        name: HIDDEN if text and _is_hidden(name, text, passwords) else text and _cleaned(text, secrets)
        for name, text in config.items()
    }


def _cleaned(text: str, secrets: Collection[str]) -> str:
    """Also of what has the shape of a secret and is in no configuration, as it comes from a config provider."""
    for secret in (*secrets, *(part for part in _parts(text) if len(part) >= _SHORTEST)):
        text = text.replace(secret, HIDDEN)
    return text
