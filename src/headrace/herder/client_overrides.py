# SPDX-License-Identifier: Apache-2.0
"""Client properties that a connector overrides: their definitions and checks.

Java: ``AbstractHerder.validateClientOverrides``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final

from headrace.api.config_def import HIDDEN, NO_DEFAULT, ConfigDef, ConfigKey, ConfigValue, Importance, Type
from headrace.api.connector import Connector
from headrace.api.errors import ConfigError
from headrace.api.policy import ConnectorClientConfigOverridePolicy
from headrace.api.source import SourceConnector
from headrace.config.override_policy import overrides_of
from headrace.config.secret_properties import is_secret_name
from headrace.herder.findings import Findings
from headrace.kafka.clients import client_config
from headrace.kafka.clients.client_definitions import NONE, REQUIRED, TABLE
from headrace.plugins.override_policies import override_values

_CLIENTS: Final[Mapping[str, Callable[[Mapping[str, str]], object]]] = {
    "producer": client_config.producer_config,
    "admin": client_config.admin_config,
    "consumer": client_config.consumer_config,
}
CLIENT_PREFIXES: Final = tuple(f"{client}.override." for client in _CLIENTS)
_DEFAULTS: Final[Mapping[str, object]] = {NONE: None, REQUIRED: NO_DEFAULT}


def override_definitions(config: Mapping[str, str]) -> ConfigDef:
    """Return definitions of the properties that ``config`` overrides and Java's clients have.

    Others are shown without a definition.
    """
    definition = ConfigDef()
    for client in _CLIENTS:
        for name in overrides_of(config, client):
            if (client, name) in _keys():
                definition.define_key(_keys()[client, name])
    return definition


@cache
def _keys() -> Mapping[tuple[str, str], ConfigKey]:
    return dict(_parsed())


def _parsed() -> Iterator[tuple[tuple[str, str], ConfigKey]]:
    for line in TABLE.splitlines():
        clients, name, type, importance, *rest = line.split(" ", 4)
        default = _DEFAULTS.get("".join(rest), "".join(rest))
        for client in (each for each in _CLIENTS if each[0] in clients):
            full = f"{client}.override.{name}"
            doc = f"The property {name} of the connector's {client}, as Apache Kafka documents it."
            # Defaults stay texts: they are shown only, and classes among them are Java's.
            key = ConfigKey(full, Type(type), default, Importance(importance), doc, display_name=name)
            yield (client, name), key


def check_overrides(
    findings: Findings,
    policy: ConnectorClientConfigOverridePolicy,
    connector: Connector,
    config: Mapping[str, str],
) -> None:
    """Check the client overrides against the worker's policy and the clients' own rules."""
    judged = override_values(policy, config, type(connector), isinstance(connector, SourceConnector))
    findings.add(_with_property_name(value, config) for value in judged)
    for client, translate in _CLIENTS.items():
        prefix = f"{client}.override."
        overrides = {
            name: text for name, text in overrides_of(config, client).items() if findings.is_valid(prefix + name)
        }  # fmt: skip
        while (error := _refusal(translate, overrides)) is not None:
            name = error.name or ""
            findings.add_message(prefix + name, _hidden(str(error).replace(name, prefix + name, 1), name, error.value))
            if overrides.pop(name, None) is None:
                break


def _refusal(translate: Callable[[Mapping[str, str]], object], overrides: Mapping[str, str]) -> ConfigError | None:
    try:
        translate(overrides)
    except ConfigError as error:
        return error
    return None


def _with_property_name(value: ConfigValue, config: Mapping[str, str]) -> ConfigValue:
    """Return a policy's judgement for users: with the full name of the property, and without secrets."""
    messages = [
        _hidden(f"{value.name}: {message}", value.name, config.get(value.name)) for message in value.error_messages
    ]
    shown = HIDDEN if is_secret_name(value.name) else value.value
    return ConfigValue(value.name, shown, value.recommended_values, messages, value.visible)


def _hidden(message: str, name: str, value: object) -> str:
    return message.replace(str(value), HIDDEN) if value and is_secret_name(name) else message
