# SPDX-License-Identifier: Apache-2.0
"""Config providers: values for references such as `${provider:path:key}` in configurations (KIP-297)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.api.config_def import ConfigDef
from headrace.api.connector import UNDEFINED_VERSION


@dataclass(frozen=True, slots=True, repr=False)
class ConfigData:
    """The values at one path, by key; valid for `ttl_ms` milliseconds, or without limit if that is None."""

    data: Mapping[str, str]
    ttl_ms: int | None = None

    def __repr__(self) -> str:
        return f"ConfigData(keys={sorted(self.data)}, ttl_ms={self.ttl_ms})"


class ConfigProvider(ABC):
    """A provider of values that configurations refer to (Java: `ConfigProvider`).

    A worker has one instance for each name in its `config.providers`; any thread may call it. A provider has to limit
    by itself what it returns: everybody who may create connectors can ask it for anything.
    """

    def version(self) -> str:
        """Return the provider's version; by default empty."""
        return UNDEFINED_VERSION

    def config(self) -> ConfigDef:
        """Return the definition of the provider's parameters."""
        return ConfigDef()

    def configure(self, configs: Mapping[str, Any]) -> None:  # noqa: B027
        """Configure the provider by the properties under `config.providers.<name>.param.`, prefix removed.

        Called once, before anything else. A ConfigError ends the worker's start.
        """

    @abstractmethod
    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """Return the values of `keys` at `path`; of all keys if `keys` is None.

        Called when a connector is validated or started, when a task is started, and when `ttl_ms` has passed. May
        block. Leave out keys that do not exist.

        Args:
            path: the middle part of the reference; empty for `${provider:key}`.
            keys: the keys that the configuration refers to at this path.

        Raises:
            ConfigError: the path is malformed or must not be read.
            RetriableError: the values cannot be read now, but may be later.
        """

    def close(self) -> None:  # noqa: B027
        """Release all resources. Called once, last."""
