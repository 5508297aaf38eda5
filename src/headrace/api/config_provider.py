# SPDX-License-Identifier: Apache-2.0
"""Values from outside of configurations, which name them as `${provider:path:key}` (KIP-297)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.api.config_def import ConfigDef
from headrace.api.connector import UNDEFINED_VERSION


@dataclass(frozen=True, slots=True, repr=False)
class ConfigData:
    """What a provider has at one path: values by key, and for how many ms they are good (None: for good)."""

    data: Mapping[str, str]
    ttl_ms: int | None = None

    def __repr__(self) -> str:
        return f"ConfigData(keys={sorted(self.data)}, ttl_ms={self.ttl_ms})"


class ConfigProvider(ABC):
    """Looks values up. A worker has one instance per name in its `config.providers`; any thread may call it.

    A provider decides for itself what it may hand out: whoever may create connectors can ask it for anything.
    """

    def version(self) -> str:
        return UNDEFINED_VERSION

    def config(self) -> ConfigDef:
        """The parameters that this provider understands."""
        return ConfigDef()

    def configure(self, configs: Mapping[str, Any]) -> None:  # noqa: B027
        """Take the properties under `config.providers.<name>.param.`, prefix removed. Called once, first.

        ConfigError for bad ones, which ends the worker's start.
        """

    @abstractmethod
    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """The values at `path` (empty where a reference names none) of `keys`; of all keys if that is None.

        Called when a connector is validated or started, a task is started, and when `ttl_ms` is over. May block. A key
        that does not exist is left out. ConfigError where the path cannot be meant or must not be read, RetriableError
        where a later try may succeed.
        """

    def close(self) -> None:  # noqa: B027
        """Release everything. Called once, last."""
