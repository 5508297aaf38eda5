# SPDX-License-Identifier: Apache-2.0
"""Extensions of the REST API (KIP-285), as ASGI middleware."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
ASGIApp: TypeAlias = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]
"""An application of the ASGI specification, as Starlette's and other libraries' are."""


@dataclass(frozen=True, slots=True)
class Health:
    """How a connector or a task is: ``state`` is RUNNING, PAUSED, ...; ``trace`` only if it is FAILED."""

    state: str
    worker_id: str | None
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class ConnectorHealth:
    """``type`` is source or sink; ``tasks`` are by their numbers."""

    name: str
    type: str
    connector: Health
    tasks: Mapping[int, Health]


class ConnectClusterState(Protocol):
    """What the worker knows of the cluster. Any thread; never blocks. ConnectError for an unknown connector."""

    def connectors(self) -> tuple[str, ...]: ...

    def connector_config(self, name: str) -> Mapping[str, str | None]: ...

    def connector_health(self, name: str) -> ConnectorHealth: ...

    def kafka_cluster_id(self) -> str | None:
        """None while Kafka has not told it."""


class ConnectRestExtensionContext(Protocol):
    """What an extension may use."""

    @property
    def cluster_state(self) -> ConnectClusterState: ...

    def add_middleware(self, wrap: Callable[[ASGIApp], ASGIApp]) -> None:
        """All requests to all listeners pass what ``wrap`` makes of the application behind; the first one outermost.

        It runs on the server's event loop, which it must not block. The path as it was sent is ``scope["raw_path"]``.
        """


class ConnectRestExtension(ABC):
    """One instance per worker, named in ``rest.extension.classes``. Java: ``ConnectRestExtension``."""

    def configure(self, configs: Mapping[str, Any]) -> None:  # noqa: B027
        """Take the worker's properties. Called once, first. ConfigError ends the worker's start."""

    @abstractmethod
    def register(self, context: ConnectRestExtensionContext) -> None:
        """Add the middleware. Called once, before the API serves anything."""

    def close(self) -> None:  # noqa: B027
        """Release everything. Called once, last, when nothing is served any more."""
