# SPDX-License-Identifier: Apache-2.0
"""Masking of secrets in answers about connectors, for users who may not change them.

Secrets are recognized by the plugins' definitions, by names and by the shape of values. A stack trace may contain one
too, so the values are masked in all texts.
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
from headrace.rest.herder_request_handler import RequestHandler

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
"""Shortest value that is masked in texts: shorter ones are in any text, and no secrets."""
_REMEMBERED: Final = 256
_BROKEN_SECONDS: Final = 60.0
_CONFIG: Final = "config"

Config = Mapping[str, str | None]


class HiddenSecrets:
    """A mask for secrets in answers. Used on the server's event loop only."""

    def __init__(self, herder: Herder, handler: RequestHandler, clock: Callable[[], float] = time.monotonic) -> None:
        self._herder = herder
        self._handler = handler
        self._clock = clock
        self._passwords: dict[str, tuple[frozenset[str], float]] = {}
        """The properties of type PASSWORD by class, and the time until which they are valid."""

    async def mask(self, access: Access, connector: str, answer: Any) -> Any:
        """Return a JSON answer about a connector as the user may see it. Raise NotFoundError for no such connector."""
        if access.may(Role.EDITOR, connector):
            return answer
        config = self._herder.connector_info(connector).config
        passwords = await self._passwords_of(config)
        return _mask(answer, passwords, secrets_of(config, passwords))

    async def _passwords_of(self, config: Config) -> frozenset[str]:
        prefixes = {CLASS: "", **{name: f"{name}." for name in CONVERTERS}}
        prefixes |= {f"{step}.type": f"{step}." for step in steps_of(config)}
        found: set[str] = set()
        for name, prefix in prefixes.items():
            if plugin := (config.get(name) or "").strip():
                found.update(prefix + key for key in await self._passwords_in(plugin))
        return frozenset(found)

    async def _passwords_in(self, plugin: str) -> frozenset[str]:
        """Return a plugin's PASSWORD properties; for a minute none if it is broken: names and shapes must do."""
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
    """Return the values that must be masked everywhere, and their secret parts, the longest first."""
    hidden = {text for name, text in config.items() if text and _is_hidden(name, text, passwords)}
    found = {each.strip() for text in hidden for each in (text, *_parts(text))}
    return sorted((text for text in found if len(text) >= _SHORTEST), key=len, reverse=True)


def _parts(text: str) -> Iterator[str]:
    for shape in _SHAPES:
        yield from shape.findall(text)


def _is_hidden(name: str, text: str, passwords: Set[str]) -> bool:
    """Return True for a secret; references to config providers are none."""
    if _REFERENCES.fullmatch(text):
        return False
    return name in passwords or _NAME.search(name) is not None or any(shape.search(text) for shape in _SHAPES)


def _mask(answer: Any, passwords: Set[str], secrets: Collection[str]) -> Any:
    if isinstance(answer, Mapping):
        return {
            key: _mask_config(value, passwords, secrets) if key == _CONFIG else _mask(value, passwords, secrets)
            for key, value in answer.items()
        }
    if isinstance(answer, list | tuple):
        return [_mask(value, passwords, secrets) for value in answer]
    return _mask_text(answer, secrets) if isinstance(answer, str) else answer


def _mask_config(config: Config, passwords: Set[str], secrets: Collection[str]) -> dict[str, str | None]:
    return {
        name: HIDDEN if text and _is_hidden(name, text, passwords) else text and _mask_text(text, secrets)
        for name, text in config.items()
    }


def _mask_text(text: str, secrets: Collection[str]) -> str:
    """Mask the secrets, and parts with a secret's shape, as of a value that a config provider has supplied."""
    for secret in (*secrets, *(part for part in _parts(text) if len(part) >= _SHORTEST)):
        text = text.replace(secret, HIDDEN)
    return text
