# SPDX-License-Identifier: Apache-2.0
"""The extensions of ``rest.extension.classes`` and their context. Java: ``ConnectRestExtensionContextImpl``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.api.errors import ConfigError, ConnectError
from headrace.api.rest_extension import ASGIApp as PluginsApp
from headrace.api.rest_extension import ConnectorHealth, ConnectRestExtension, Health
from headrace.config.rest_config import REST_EXTENSIONS
from headrace.config.worker_config import WorkerConfig
from headrace.herder.herder import Herder
from headrace.plugins.discovery import Plugins
from headrace.rest.exception_mapper import error_response

log = logging.getLogger(__name__)


class HerderClusterState:
    """A ``ConnectClusterState`` by the herder's latest snapshot. Java: ``ConnectClusterStateImpl``."""

    def __init__(self, herder: Herder) -> None:
        self._herder = herder

    def connectors(self) -> tuple[str, ...]:
        return self._herder.connectors()

    def connector_config(self, name: str) -> Mapping[str, str | None]:
        return self._herder.connector_info(name).config

    def connector_health(self, name: str) -> ConnectorHealth:
        status = self._herder.connector_status(name)
        connector = Health(status.connector.state, status.connector.worker_id, status.connector.trace)
        tasks = {task.id: Health(task.state, task.worker_id, task.trace) for task in status.tasks}
        return ConnectorHealth(status.name, status.type, connector, tasks)

    def kafka_cluster_id(self) -> str | None:
        return self._herder.server_info().kafka_cluster_id


@dataclass(frozen=True, slots=True)
class _Context:
    """A ``ConnectRestExtensionContext`` that collects middleware."""

    cluster_state: HerderClusterState
    wraps: list[Callable[[PluginsApp], PluginsApp]]

    def add_middleware(self, wrap: Callable[[PluginsApp], PluginsApp]) -> None:
        self.wraps.append(wrap)


class RestExtensions:
    """A worker's extensions, from their configuration to their close."""

    def __init__(self, config: WorkerConfig, plugins: Plugins) -> None:
        """Create and configure the extensions that the properties name. Raise ConfigError if one fails."""
        self._extensions: list[ConnectRestExtension] = []
        self._wraps: list[Callable[[PluginsApp], PluginsApp]] = []
        for name in config.get(REST_EXTENSIONS):
            cls = plugins.rest_extension(name, REST_EXTENSIONS)
            with self._starting(name):
                extension = cls()
                self._extensions.append(extension)
                extension.configure(config.raw)

    def register(self, herder: Herder) -> None:
        """Let the extensions add their middleware. Raise ConfigError if one fails."""
        context = _Context(HerderClusterState(herder), self._wraps)
        for extension in self._extensions:
            with self._starting(type(extension).__name__):
                extension.register(context)

    def wrap(self, app: ASGIApp) -> ASGIApp:
        """Return the application behind the extensions' middleware, the first outermost."""
        if not self._wraps:
            return app
        for wrap in reversed(self._wraps):
            app = wrap(app)
        return _ErrorBoundary(app)

    @contextmanager
    def _starting(self, name: str) -> Iterator[None]:
        """Close all if one cannot start."""
        try:
            yield
        except Exception as error:
            self.close()
            if isinstance(error, ConnectError):
                raise
            reason = f"the REST extension cannot start: {type(error).__name__}: {error}"
            raise ConfigError.invalid(REST_EXTENSIONS, name, reason) from error

    def close(self) -> None:
        """Close all, the last one first; log failures."""
        for extension in reversed(self._extensions):
            try:
                extension.close()
            except Exception:
                log.warning("REST extension %s failed to close", type(extension).__name__, exc_info=True)


class _ErrorBoundary:
    """ASGI middleware that answers an extension's failure in the API's shape."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def send_noting(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, send_noting)
        except Exception as error:
            if begun:  # the API itself has answered and logged, and the server closes the connection
                raise
            log.error("A REST extension failed at %s %s", scope["method"], scope["path"], exc_info=error)
            message = f"Internal error: a REST extension failed: {type(error).__name__}"
            await error_response(500, message, {"Connection": "close"})(scope, receive, send)
