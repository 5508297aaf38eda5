# SPDX-License-Identifier: Apache-2.0
"""The built-in policies for client overrides (KIP-458; KIP-1188 for ``Allowlist``), and the checks of a worker."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from headrace.api.config_def import ConfigValue
from headrace.api.errors import ConfigError
from headrace.api.policy import ClientType, ConnectorClientConfigOverridePolicy, ConnectorClientConfigRequest
from headrace.config.base_config import BaseConfig
from headrace.config.override_policy import (
    ALLOWLIST_PROPERTY,
    IGNORED_ANYWAY,
    POLICY_PROPERTY,
    PRINCIPAL,
    ClientResources,
    client_resources,
    overrides_of,
)
from headrace.plugins.discovery import Plugins, comma_separated

log = logging.getLogger(__name__)


class _NamesPolicy(ConnectorClientConfigOverridePolicy):
    """A policy by the names of properties only. Java: ``AbstractConnectorClientConfigOverridePolicy``."""

    policy_name: str
    hint = ""

    def validate(self, request: ConnectorClientConfigRequest) -> list[ConfigValue]:
        return [self._value(name, value) for name, value in request.client_props.items()]

    def _value(self, name: str, value: Any) -> ConfigValue:
        judged = ConfigValue(name, value)
        if not self.allows(name):
            refusal = f"The '{self.policy_name}' policy does not allow '{name}' to be overridden in the connector"
            judged.add_error_message(f"{refusal} configuration.{self.hint}")
        return judged

    @abstractmethod
    def allows(self, name: str) -> bool: ...


class AllConnectorClientConfigOverridePolicy(_NamesPolicy):
    """A policy that allows all properties; the default, as in Kafka Connect."""

    policy_name = "All"

    def allows(self, name: str) -> bool:
        return True


class NoneConnectorClientConfigOverridePolicy(_NamesPolicy):
    """A policy that refuses all properties."""

    policy_name = "None"

    def allows(self, name: str) -> bool:
        return False


class PrincipalConnectorClientConfigOverridePolicy(_NamesPolicy):
    """A policy that allows only the properties of the clients' login. Deprecated, as in Kafka Connect."""

    policy_name = "Principal"

    def configure(self, configs: Mapping[str, Any]) -> None:
        same = ",".join(sorted(PRINCIPAL))
        log.warning("%s=Principal is deprecated: Allowlist with %s=%s does the same",
                    POLICY_PROPERTY, ALLOWLIST_PROPERTY, same)  # fmt: skip

    def allows(self, name: str) -> bool:
        return name in PRINCIPAL


class AllowlistConnectorClientConfigOverridePolicy(_NamesPolicy):
    """A policy that allows the properties in ``connector.client.config.override.allowlist``; by default none."""

    policy_name = "Allowlist"
    hint = f" The worker's {ALLOWLIST_PROPERTY} lists what may be."

    def __init__(self) -> None:
        self._allowed: frozenset[str] = frozenset()

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._allowed = frozenset(comma_separated(configs.get(ALLOWLIST_PROPERTY)))

    def allows(self, name: str) -> bool:
        return name in self._allowed


class _WithinResources(ConnectorClientConfigOverridePolicy):
    """Another policy, plus the properties that a worker refuses with any policy."""

    def __init__(self, policy: ConnectorClientConfigOverridePolicy, resources: ClientResources) -> None:
        self._policy = policy
        self._resources = resources

    def validate(self, request: ConnectorClientConfigRequest) -> list[ConfigValue]:
        judged = list(self._policy.validate(request))
        for name, text in request.client_props.items():
            refusal = self._resources.refusal(name, text)
            if refusal is None:
                continue
            value = next((value for value in judged if value.name == name), None)
            if value is None:
                value = ConfigValue(name, text)
                judged.append(value)
            value.add_error_message(refusal)
        return judged

    def close(self) -> None:
        self._policy.close()


def override_policy(worker: BaseConfig, plugins: Plugins) -> ConnectorClientConfigOverridePolicy:
    """Create and configure the worker's policy. Raise ConfigError if it is unknown or not usable."""
    name = worker.get(POLICY_PROPERTY)
    cls = plugins.override_policy(name, POLICY_PROPERTY)
    try:
        policy = cls()
        policy.configure(dict(worker.raw))
    except ConfigError:
        raise
    except Exception as error:
        raise ConfigError.invalid(POLICY_PROPERTY, name, f"{type(error).__name__}: {error}") from error
    return _WithinResources(policy, client_resources(worker))


def override_values(
    policy: ConnectorClientConfigOverridePolicy,
    connector_config: Mapping[str, str | None],
    connector_class: type | None,
    is_source: bool,
) -> list[ConfigValue]:
    """Return the policy's outcome for each client override of a connector, by its full name ``producer.override.x``."""
    judged: list[ConfigValue] = []
    for client in ClientType:
        overrides = overrides_of(connector_config, client.value)
        asked = {name: text for name, text in overrides.items() if name not in IGNORED_ANYWAY}
        if asked:
            name = connector_config.get("name") or ""
            request = ConnectorClientConfigRequest(asked, client, name, connector_class, is_source)
            judged.extend(_renamed(value, f"{client.value}.override.") for value in policy.validate(request))
    return judged


def check_overrides(
    policy: ConnectorClientConfigOverridePolicy,
    connector_config: Mapping[str, str | None],
    connector_class: type | None,
    is_source: bool,
) -> None:
    """Raise ConfigError for the first override that the policy refuses."""
    for value in override_values(policy, connector_config, connector_class, is_source):
        if value.error_messages:
            raise ConfigError.invalid(value.name, value.value, " ".join(value.error_messages))


def _renamed(value: ConfigValue, prefix: str) -> ConfigValue:
    return ConfigValue(prefix + value.name, value.value, value.recommended_values, value.error_messages, value.visible)
