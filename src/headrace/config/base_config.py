# SPDX-License-Identifier: Apache-2.0
"""The base of all configurations."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from headrace.api.config_def import ConfigDef


class BaseConfig:
    """Properties parsed by a definition; immutable, so any thread may read them. Java: ``AbstractConfig``.

    Raise ConfigError, naming property and value, if the properties are not valid.
    """

    def __init__(self, definition: ConfigDef, props: Mapping[str, str | None]) -> None:
        self.raw: Mapping[str, str] = MappingProxyType({key: text for key, text in props.items() if text is not None})
        """The properties as written; those given as null are left out, so they have their default."""
        self._values = definition.parse(self.raw)

    def get(self, name: str) -> Any:
        """Return the parsed value of a defined property. KeyError for others: use ``raw``."""
        return self._values[name]

    def seconds(self, name: str) -> float:
        """Return a property in milliseconds as seconds."""
        return float(self._values[name]) / 1000

    def with_prefix(self, prefix: str) -> dict[str, str]:
        """Return the raw properties whose names begin with ``prefix``, without it."""
        return {key[len(prefix) :]: text for key, text in self.raw.items() if key.startswith(prefix) and key != prefix}
