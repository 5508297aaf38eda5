# SPDX-License-Identifier: Apache-2.0
"""Policies for connectors' overrides of Kafka client properties (KIP-458)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from headrace.api.config_def import ConfigValue


class ClientType(Enum):
    """The kinds of Kafka clients; the value is the prefix of the override properties, without `.override.`."""

    PRODUCER = "producer"
    CONSUMER = "consumer"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class ConnectorClientConfigRequest:
    """A connector's request to override client properties; `client_props` have the prefix removed."""

    client_props: Mapping[str, Any]
    client_type: ClientType
    connector_name: str
    connector_class: type | None
    is_source: bool


class ConnectorClientConfigOverridePolicy(ABC):
    """A policy that allows or refuses client overrides. One instance per worker, called from several threads."""

    def configure(self, configs: Mapping[str, Any]) -> None:  # noqa: B027
        """Configure by the worker's properties. Called once, before anything else."""

    @abstractmethod
    def validate(self, request: ConnectorClientConfigRequest) -> list[ConfigValue]:
        """Return one value per requested property; refused ones have errors. Called before each create and start."""

    def close(self) -> None:  # noqa: B027
        """Release all resources. Called once, last."""
