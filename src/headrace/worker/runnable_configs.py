# SPDX-License-Identifier: Apache-2.0
"""From a connector's stored configuration to the one that it runs with."""

from __future__ import annotations

from headrace.api.errors import ConfigError
from headrace.api.policy import ConnectorClientConfigOverridePolicy
from headrace.model.cluster_config_state import Config
from headrace.plugins.config_transformer import ConfigTransformer
from headrace.plugins.discovery import Plugins, connector_type
from headrace.plugins.override_policies import check_overrides
from headrace.plugins.resolved_config import ResolvedConfig


class RunnableConfigs:
    """Resolves references and enforces the worker's override policy.

    Every connector and task of a worker gets its configuration here. Methods block on config providers and imports; any
    thread may call.
    """

    def __init__(
        self, transformer: ConfigTransformer, policy: ConnectorClientConfigOverridePolicy, plugins: Plugins
    ) -> None:
        self._transformer = transformer
        self._policy = policy
        self._plugins = plugins

    def resolve_connector(self, config: Config) -> ResolvedConfig:
        """Resolve a connector's configuration.

        Raise ConfigError, without values, for a reference that cannot be resolved and for an override that is refused.
        """
        resolved = self._transformer.transform(config)
        cls = self._class(resolved.config)
        with resolved.hidden_errors():
            check_overrides(self._policy, resolved.config, cls, cls is not None and connector_type(cls) == "source")
        return resolved

    def resolve_task(self, config: Config) -> ResolvedConfig:
        """Resolve a task's configuration. Raise ConfigError for a reference that cannot be resolved."""
        return self._transformer.transform(config)

    def _class(self, config: Config) -> type | None:
        """Return None for an unknown class: code that needs the class raises."""
        try:
            return self._plugins.connector(config.get("connector.class") or "")
        except ConfigError:
            return None
