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
"""An ASGI application, such as Starlette's and other libraries' ones."""


@dataclass(frozen=True, slots=True)
class Health:
    """The health of a connector or task: ``state`` is RUNNING, PAUSED, ...; ``trace`` is set only if it is FAILED."""

    state: str
    worker_id: str | None
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class ConnectorHealth:
    """The health of a connector and its tasks, by their numbers; ``type`` is source or sink."""

    name: str
    type: str
    connector: Health
    tasks: Mapping[int, Health]


class ConnectClusterState(Protocol):
    """The worker's view of the cluster (Java: ``ConnectClusterState``).

    Any thread may call it; it never blocks. Raises ConnectError for an unknown connector.
    """

    def connectors(self) -> tuple[str, ...]:
        """Return the names of all connectors."""

    def connector_config(self, name: str) -> Mapping[str, str | None]:
        """Return the configuration of a connector."""

    def connector_health(self, name: str) -> ConnectorHealth:
        """Return the health of a connector and its tasks."""

    def kafka_cluster_id(self) -> str | None:
        """Return the id of the Kafka cluster; None until it is known."""


class ConnectRestExtensionContext(Protocol):
    """The worker as an extension sees it (Java: ``ConnectRestExtensionContext``)."""

    @property
    def cluster_state(self) -> ConnectClusterState:
        """The worker's view of the cluster."""

    def add_middleware(self, wrap: Callable[[ASGIApp], ASGIApp]) -> None:
        """Add a middleware that all requests to all listeners pass; the first one added is the outermost.

        ``wrap`` is called with the inner application. The middleware runs on the server's event loop and must not
        block it. The path as it was sent is ``scope["raw_path"]``.
        """


class ConnectRestExtension(ABC):
    """An extension of the REST API, named in ``rest.extension.classes`` (Java: ``ConnectRestExtension``).

    A worker has one instance::

        class RequestIds(ConnectRestExtension):
            def register(self, context):
                context.add_middleware(lambda app: RequestIdMiddleware(app))
    """

    def configure(self, configs: Mapping[str, Any]) -> None:  # noqa: B027
        """Configure by the worker's properties. Called once, first. A ConfigError ends the worker's start."""

    @abstractmethod
    def register(self, context: ConnectRestExtensionContext) -> None:
        """Add the middleware. Called once, before the API serves requests."""

    def close(self) -> None:  # noqa: B027
        """Release all resources. Called once, after the last request."""
