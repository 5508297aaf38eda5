# SPDX-License-Identifier: Apache-2.0
"""From a stored configuration to the one that it runs with, and the watch over what it refers to (KIP-297)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from headrace.api.errors import ConfigError
from headrace.api.policy import ConnectorClientConfigOverridePolicy
from headrace.config.connector_config import NAME
from headrace.model.cluster_config_state import Config
from headrace.plugins.command_access import CommandAccess
from headrace.plugins.config_transformer import ConfigTransformer
from headrace.plugins.discovery import Plugins, connector_type
from headrace.plugins.override_policies import check_overrides
from headrace.plugins.resolved_config import ResolvedConfig

log = logging.getLogger(__name__)

After = Callable[[float, Callable[[], None]], Callable[[], None]]
"""Schedules the second argument after so many seconds, on a thread that it may block; returns the cancellation."""


class RunnableConfigs:
    """Resolves references, and enforces the worker's override policy and its rule about commands.

    Every connector and task of a worker gets its configuration here. Methods block on config providers and imports; any
    thread may call.
    """

    def __init__(
        self,
        transformer: ConfigTransformer,
        policy: ConnectorClientConfigOverridePolicy,
        plugins: Plugins,
        commands: CommandAccess,
    ) -> None:
        self._transformer = transformer
        self._policy = policy
        self._plugins = plugins
        self._commands = commands

    def resolve_connector(self, config: Config) -> ResolvedConfig:
        """Resolve a connector's configuration.

        Raise ConfigError, without values, for a reference that cannot be resolved, and for an override or command that
        is refused.
        """
        resolved = self._transformer.transform(config)
        cls = self._class(resolved.config)
        with resolved.hidden_errors():
            check_overrides(self._policy, resolved.config, cls, cls is not None and connector_type(cls) == "source")
            self._commands.check(config.get(NAME), resolved.config)
        return resolved

    def resolve_task(self, connector: str, config: Config) -> ResolvedConfig:
        """Resolve a task's configuration.

        Raise ConfigError for a reference that cannot be resolved, and for a command that is refused.
        """
        resolved = self._transformer.transform(config)
        with resolved.hidden_errors():
            self._commands.check(connector, resolved.config)
        return resolved

    def _class(self, config: Config) -> type | None:
        """Return None for an unknown class: code that needs the class raises."""
        try:
            return self._plugins.connector(config.get("connector.class") or "")
        except ConfigError:
            return None


def after(seconds: float, work: Callable[[], None]) -> Callable[[], None]:
    """Call ``work`` after ``seconds`` on a daemon thread of its own; return the cancellation."""
    timer = threading.Timer(seconds, work)
    timer.daemon = True
    timer.start()
    return timer.cancel


class ConfigWatch:
    """A watch over one connector's or task's values. Thread-safe.

    Looks the values up again whenever their time to live is over. Values that cannot be looked up then are looked up
    later: the connector or task keeps running with its present ones.
    """

    def __init__(
        self, name: str, resolve: Callable[[], ResolvedConfig], changed: Callable[[], None], after: After
    ) -> None:
        """Create a watch. ``resolve`` may block; ``changed`` must not, and is called once per ``begin``."""
        self._name = name
        self._resolve = resolve
        self._changed = changed
        self._after = after
        self._lock = threading.Lock()
        self._watched: ResolvedConfig | None = None
        self._cancel: Callable[[], None] | None = None
        self._closed = False

    def begin(self, resolved: ResolvedConfig) -> None:
        """Watch ``resolved`` from now on. Does nothing if its values never expire or need no reload."""
        with self._lock:
            self._clear()
            if resolved.reloads and resolved.ttl is not None and not self._closed:
                self._watched = resolved
                self._cancel = self._after(resolved.ttl, lambda: self._check_values(resolved))

    def end(self) -> None:
        """Stop watching until the next ``begin``."""
        with self._lock:
            self._clear()

    def close(self) -> None:
        """Stop watching for good, even if ``begin`` is called later."""
        with self._lock:
            self._closed = True
            self._clear()

    def _clear(self) -> None:
        if self._cancel is not None:
            self._cancel()
        self._watched = self._cancel = None

    def _check_values(self, former: ResolvedConfig) -> None:
        try:
            current = self._resolve()
        except Exception as error:  # a provider's own, too: the watch must not end with it
            log.warning("%s: references cannot be looked up again, will try later: %s", self._name, error)
            current = former
        with self._lock:
            if self._watched is not former:
                return
        if current.values == former.values:
            self.begin(former if current.ttl is None else current)
            return
        self.end()
        log.info("%s: values that its configuration refers to have changed, so it is restarted", self._name)
        self._changed()
