# SPDX-License-Identifier: Apache-2.0
"""Masking of secrets in answers about connectors, for users who may not change them, and in the audit.

Secrets are recognized by the plugins' definitions, by names and by the shape of values. A stack trace may contain one
too, so the values are masked in all texts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Final

from headrace.api.config_def import Type
from headrace.api.errors import ConnectError
from headrace.config.secret_properties import is_reference
from headrace.herder.herder import Herder
from headrace.plugins.configured_plugins import CLASS, CONVERTERS, configured_plugins
from headrace.plugins.secret_texts import HIDDEN, is_hidden, longest_first, mask_text, secrets_of
from headrace.rest.access.access import Access
from headrace.rest.access.operations import Role
from headrace.rest.herder_request_handler import RequestHandler

_REMEMBERED: Final = 256
_BROKEN_SECONDS: Final = 60.0
_CONFIG: Final = "config"

_NO_SECRETS: Final = (CLASS, "name", "tasks.max", *CONVERTERS)

Config = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Secrets:
    """The secrets in some configurations: the properties of type PASSWORD, and the values to mask in all texts.

    Not ``complete``: a plugin has not returned its definition, so that all values may be secrets.
    """

    passwords: frozenset[str] = frozenset()
    values: Sequence[str] = ()
    complete: bool = True

    @classmethod
    def all_of(cls, *configs: Config) -> Secrets:
        """Return all values as secrets."""
        values = {text for config in configs for name, text in config.items() if text and name not in _NO_SECRETS}
        return cls(values=longest_first(text for text in values if not is_reference(text)), complete=False)

    def masked(self, name: str, text: str) -> str:
        """Return a property's value with HIDDEN in the place of secrets."""
        if not text or is_reference(text):
            return text
        unknown = not self.complete and name not in _NO_SECRETS
        return HIDDEN if unknown or is_hidden(name, text, self.passwords) else self.masked_text(text)

    def masked_text(self, text: str) -> str:
        """Return a text about the configurations with HIDDEN in the place of secrets."""
        return mask_text(text, self.values)


class HiddenSecrets:
    """A mask for secrets in answers. Used on the server's event loop only."""

    def __init__(self, herder: Herder, handler: RequestHandler, clock: Callable[[], float] = time.monotonic) -> None:
        self._herder = herder
        self._handler = handler
        self._clock = clock
        self._passwords: dict[str, tuple[frozenset[str] | None, float]] = {}
        """The properties of type PASSWORD by class, None if it is broken, and the time until which they are valid."""

    async def mask(self, access: Access, connector: str, answer: Any) -> Any:
        """Return a JSON answer about a connector as the user may see it. Raise NotFoundError for no such connector."""
        if access.may(Role.EDITOR, connector) and not access.hides_secrets:
            return answer
        config = self._herder.connector_info(connector).config
        secrets = await self.secrets_in(config)
        return _mask(answer, secrets.passwords, secrets.values)

    async def mask_written(self, access: Access, answer: Any) -> Any:
        """Return the JSON of a connector that the user has just written; its configuration may not be stored here."""
        if not access.hides_secrets:
            return answer
        secrets = await self.secrets_in(answer[_CONFIG])
        return _mask(answer, secrets.passwords, secrets.values)

    async def secrets_in(self, *configs: Config) -> Secrets:
        """Return the secrets in configurations of one connector."""
        found = [await self._passwords_of(config) for config in configs]
        passwords = frozenset().union(*(names for names, _ in found))
        values = {text for config in configs for text in secrets_of(config, passwords)}
        return Secrets(passwords, longest_first(values), all(complete for _, complete in found))

    async def _passwords_of(self, config: Config) -> tuple[frozenset[str], bool]:
        """Return the PASSWORD properties, and True if all plugins have returned their definitions."""
        found: set[str] = set()
        complete = True
        for plugin, prefix in configured_plugins(config):
            passwords = await self._passwords_in(plugin)
            complete = complete and passwords is not None
            found.update(prefix + key for key in passwords or ())
        return frozenset(found), complete

    async def _passwords_in(self, plugin: str) -> frozenset[str] | None:
        """Return a plugin's PASSWORD properties; for a minute None if it is broken: names and shapes must do."""
        known, end = self._passwords.get(plugin, (None, 0.0))
        if self._clock() < end:
            return known
        found: frozenset[str] | None
        try:
            keys = await self._handler.complete(self._herder.connector_plugin_config(plugin))
        except ConnectError:
            found, end = None, self._clock() + _BROKEN_SECONDS
        else:
            found, end = frozenset(key.name for key in keys if key.type == Type.PASSWORD.value), math.inf
        if len(self._passwords) >= _REMEMBERED:
            self._passwords.clear()
        self._passwords[plugin] = found, end
        return found


def _mask(answer: Any, passwords: Set[str], secrets: Collection[str]) -> Any:
    if isinstance(answer, Mapping):
        return {
            key: _mask_config(value, passwords, secrets) if key == _CONFIG else _mask(value, passwords, secrets)
            for key, value in answer.items()
        }
    if isinstance(answer, list | tuple):
        return [_mask(value, passwords, secrets) for value in answer]
    return mask_text(answer, secrets) if isinstance(answer, str) else answer


def _mask_config(config: Config, passwords: Set[str], secrets: Collection[str]) -> dict[str, str | None]:
    return {
        name: HIDDEN if text and is_hidden(name, text, passwords) else text and mask_text(text, secrets)
        for name, text in config.items()
    }
