# SPDX-License-Identifier: Apache-2.0
"""Checks a connector's configuration before it is accepted. Java: ``AbstractHerder.validateConnectorConfig``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Protocol

from headrace.api.config_def import ConfigDef, ConfigValue
from headrace.api.connector import Connector
from headrace.api.errors import ConfigError, ConnectError
from headrace.api.sink import SinkConnector
from headrace.api.source import (
    ConnectorTransactionBoundaries,
    ExactlyOnceSupport,
    SourceConnector,
    TransactionBoundary,
)
from headrace.config.connector_config import (
    CONNECTOR_CLASS,
    HEADER_CONVERTER,
    KEY_CONVERTER,
    NAME,
    PREDICATES,
    TRANSFORMS,
    VALUE_CONVERTER,
    ConnectorConfig,
)
from headrace.config.distributed_config import DistributedConfig
from headrace.config.override_policy import client_overrides
from headrace.config.sink_connector_config import SinkConnectorConfig
from headrace.config.source_connector_config import BOUNDARY, EXACTLY_ONCE_SUPPORT, SourceConnectorConfig
from headrace.herder.errors import BadRequestError
from headrace.kafka import clients
from headrace.model.cluster_config_state import Config
from headrace.plugins.discovery import Plugins

_CLIENTS: Mapping[str, Callable[[Mapping[str, str]], object]] = {
    "producer": clients.producer_config,
    "consumer": clients.consumer_config,
    "admin": clients.admin_config,
}
_GROUP_OVERRIDE = "consumer.override.group.id"


class _Configurable(Protocol):
    """A converter, transformation or predicate, as far as validation is concerned."""

    def config(self) -> ConfigDef: ...


class ConnectorValidator:
    """Runs code of plugins and may import them, so never on the herder's thread; may be used from any other."""

    def __init__(self, worker: DistributedConfig, plugins: Plugins) -> None:
        self._worker = worker
        self._plugins = plugins

    def check(self, name: str, config: Config) -> dict[str, str | None]:
        """The configuration as it is to be stored: as the user gave it, with the connector's name in it.

        BadRequestError with all that is wrong. ConnectError if the plugin itself is broken.
        """
        given = config.get(NAME)
        if given is not None and given != name:
            raise BadRequestError(
                f"Connector name configuration ({given}) doesn't match connector name in the request ({name})"
            )
        complete = {**config, NAME: name}
        errors = self._errors(complete)
        if errors:
            raise BadRequestError(_told(errors))
        return complete

    def _errors(self, config: Config) -> list[str]:
        connector = self._instance(config)
        definition = _definition(connector)
        raw = {key: value for key, value in config.items() if value is not None}
        # The runtime's own findings first; a plugin that defines one of its properties again adds nothing to them.
        found: dict[str, list[str]] = {}
        _add(found, definition.validate(config))
        if not any(found.values()):
            self._add_combinations(found, connector, config)
        with _plugin_call(connector, "validate"):
            _add(found, connector.validate(raw))
        return [message for messages in found.values() for message in messages]

    def _instance(self, config: Config) -> Connector:
        name = config.get(CONNECTOR_CLASS)
        if name is None or not name.strip():
            raise BadRequestError(f"The configuration of connector {config[NAME]} lacks {CONNECTOR_CLASS}")
        try:
            cls = self._plugins.connector(name)
        except ConfigError as error:
            raise BadRequestError(str(error)) from error
        try:
            return cls()
        except Exception as error:
            raise ConnectError(f"Connector class {name} cannot be instantiated: {_shown(error)}") from error

    def _add_combinations(self, found: dict[str, list[str]], connector: Connector, config: Config) -> None:
        """What single properties do not show, once they are sound each by itself."""
        parsed: ConnectorConfig
        try:
            if isinstance(connector, SourceConnector):
                parsed = SourceConnectorConfig(config)
            else:
                parsed = SinkConnectorConfig(config)
        except ConfigError as error:
            _add_error(found, error)
            return
        for check in (self._check_converters, self._check_stages, self._check_overrides):
            check(found, parsed)
        if isinstance(connector, SourceConnector) and isinstance(parsed, SourceConnectorConfig):
            self._check_exactly_once(found, connector, parsed)
        elif isinstance(connector, SinkConnector):
            self._check_consumer_group(found, parsed)

    def _check_converters(self, found: dict[str, list[str]], config: ConnectorConfig) -> None:
        loaders: dict[str, Callable[[str, str], type[_Configurable]]] = {
            KEY_CONVERTER: self._plugins.converter,
            VALUE_CONVERTER: self._plugins.converter,
            HEADER_CONVERTER: self._plugins.header_converter,
        }
        for property, load in loaders.items():
            name = config.get(property)
            if name is not None:
                # The runtime says what a converter is for; no user does.
                settings = {"converter.type": property.partition(".")[0], **config.with_prefix(f"{property}.")}
                _check_plugin(found, f"{property}.", settings, partial(load, name, property))

    def _check_stages(self, found: dict[str, list[str]], config: ConnectorConfig) -> None:
        for stage in config.transforms:
            prefix = f"{TRANSFORMS}.{stage.alias}."
            load_transformation = partial(self._plugins.transformation, stage.type, f"{prefix}type")
            _check_plugin(found, prefix, stage.config, load_transformation)
        for stage in config.predicates:
            prefix = f"{PREDICATES}.{stage.alias}."
            load_predicate = partial(self._plugins.predicate, stage.type, f"{prefix}type")
            _check_plugin(found, prefix, stage.config, load_predicate)

    def _check_overrides(self, found: dict[str, list[str]], config: ConnectorConfig) -> None:
        for client, translate in _CLIENTS.items():
            try:
                overrides = client_overrides(self._worker, config.raw, client)
            except ConfigError as error:
                _add_error(found, error)
                continue
            try:
                translate(overrides)
            except ConfigError as error:
                _add_error(found, _prefixed(error, f"{client}.override."))

    def _check_consumer_group(self, found: dict[str, list[str]], config: ConnectorConfig) -> None:
        """The two kinds of members would fight over the group."""
        group = config.raw.get(_GROUP_OVERRIDE, f"connect-{config.name}")
        if group == self._worker.group_id:
            property = _GROUP_OVERRIDE if _GROUP_OVERRIDE in config.raw else NAME
            message = f"The consumer group {group} of this sink connector is the group.id of the Connect workers"
            found.setdefault(property, []).append(message)

    def _check_exactly_once(
        self, found: dict[str, list[str]], connector: SourceConnector, config: SourceConnectorConfig
    ) -> None:
        """The connector's consent where the user insists on exactly-once or on its own boundaries (KIP-618)."""
        if config.exactly_once_required:
            if not self._worker.exactly_once_source_enabled:
                message = "This worker does not have exactly-once source support enabled."
                found.setdefault(EXACTLY_ONCE_SUPPORT, []).append(message)
            else:
                refusal = _exactly_once_refusal(connector, config)
                found.setdefault(EXACTLY_ONCE_SUPPORT, []).extend([refusal] if refusal else [])
        if config.transaction_boundary is TransactionBoundary.CONNECTOR:
            with _plugin_call(connector, "can_define_transaction_boundaries"):
                answer = connector.can_define_transaction_boundaries(dict(config.raw))
            if answer is not ConnectorTransactionBoundaries.SUPPORTED:
                message = (
                    f"The connector cannot define transaction boundaries with this configuration; "
                    f"choose another value for {BOUNDARY} than connector"
                )
                found.setdefault(BOUNDARY, []).append(message)


def _exactly_once_refusal(connector: SourceConnector, config: SourceConnectorConfig) -> str | None:
    with _plugin_call(connector, "exactly_once_support"):
        answer = connector.exactly_once_support(dict(config.raw))
    if answer is None:
        return (
            "The connector does not tell whether it can be exactly-once (exactly_once_support). Consult its "
            f"documentation, and set {EXACTLY_ONCE_SUPPORT}=requested to accept it without this check"
        )
    if answer is not ExactlyOnceSupport.SUPPORTED:
        return "The connector cannot be exactly-once with this configuration."
    return None


def _definition(connector: Connector) -> ConfigDef:
    if isinstance(connector, SourceConnector):
        return SourceConnectorConfig.DEFINITION
    if isinstance(connector, SinkConnector):
        return SinkConnectorConfig.DEFINITION
    name = type(connector).__qualname__
    raise BadRequestError(f"Connector class {name} is neither a SourceConnector nor a SinkConnector")


def _check_plugin(
    found: dict[str, list[str]], prefix: str, settings: Mapping[str, str], load: Callable[[], type[_Configurable]]
) -> None:
    """A converter's or transformation's class, and its settings, which are told under their full names."""
    try:
        values = load()().config().validate(settings)
    except ConfigError as error:
        _add_error(found, error)
        return
    except Exception as error:
        found.setdefault(prefix, []).append(f"The plugin of {prefix.rstrip('.')} is broken: {_shown(error)}")
        return
    for value in values:
        messages = [message.replace(value.name, prefix + value.name, 1) for message in value.error_messages]
        found.setdefault(prefix + value.name, []).extend(messages)


def _add(found: dict[str, list[str]], values: list[ConfigValue]) -> None:
    for value in values:
        messages = found.setdefault(value.name, [])
        messages.extend(message for message in value.error_messages if message not in messages)


def _add_error(found: dict[str, list[str]], error: ConfigError) -> None:
    found.setdefault(error.name or "", []).append(str(error))


def _prefixed(error: ConfigError, prefix: str) -> ConfigError:
    """An error about a client's property, told under the name that the connector's configuration has for it."""
    if error.name is None:
        return error
    name = prefix + error.name
    return ConfigError(str(error).replace(error.name, name, 1), name, error.value)


@contextmanager
def _plugin_call(connector: Connector, method: str) -> Iterator[None]:
    """Tells apart what a connector refuses (its ``ConnectError``) and where it is broken (anything else)."""
    name = type(connector).__qualname__
    try:
        yield
    except ConnectError as error:
        raise BadRequestError(f"{name}.{method} refused the configuration: {error}") from error
    except Exception as error:
        raise ConnectError(f"{name}.{method} failed: {_shown(error)}") from error


def _shown(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _told(errors: list[str]) -> str:
    """In Java's words, as far as they go, in one line."""
    return f"Connector configuration is invalid and contains the following {len(errors)} error(s): {'; '.join(errors)}"
