# SPDX-License-Identifier: Apache-2.0
"""Which client properties a connector may override (KIP-458)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from headrace.api.config_def import ConfigValue


class ClientType(Enum):
    """The kind of Kafka client that properties are meant for; the value is the prefix without `.override.`."""

    PRODUCER = "producer"
    CONSUMER = "consumer"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class ConnectorClientConfigRequest:
    """What a connector asks for: `client_props` are its override properties, prefix removed."""

    client_props: Mapping[str, Any]
    client_type: ClientType
    connector_name: str
    connector_class: type | None
    is_source: bool


class ConnectorClientConfigOverridePolicy(ABC):
    """Allows or refuses client overrides. One instance per worker, called from several threads."""

    def configure(self, configs: Mapping[str, Any]) -> None:  # noqa: B027
        """Take the worker's properties. Called once, first."""

    @abstractmethod
    def validate(self, request: ConnectorClientConfigRequest) -> list[ConfigValue]:
        """One value per property asked for; those refused have error messages. Called before each create and start."""

    def close(self) -> None:  # noqa: B027
        """Release everything. Called once, last."""
