# SPDX-License-Identifier: Apache-2.0
"""The validation of a connector's configuration, before it is accepted or on request. Java: ``AbstractHerder``."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NoReturn

from headrace.api.config_def import ConfigDef, Type
from headrace.api.connector import Connector
from headrace.api.error_text import error_line, error_text
from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.api.policy import ConnectorClientConfigOverridePolicy
from headrace.api.sink import SinkConnector
from headrace.api.source import SourceConnector
from headrace.config.connector_config import CONNECTOR_CLASS, NAME
from headrace.config.sink_connector_config import SinkConnectorConfig
from headrace.config.source_connector_config import SourceConnectorConfig
from headrace.config.topic_creation import topic_creation_definition
from headrace.config.worker_config import WorkerConfig
from headrace.herder import runtime_checks
from headrace.herder.client_overrides import check_overrides, override_definitions
from headrace.herder.config_infos import ConfigInfos, ConfigKeyInfo
from headrace.herder.enriched_definition import converter_definition, runtime_definition, with_converter_types
from headrace.herder.errors import BadRequestError
from headrace.herder.findings import Findings
from headrace.herder.named_plugins import NamedPlugins
from headrace.herder.plugin_config import plugin_config
from headrace.herder.runtime_checks import Analyse, check_by_frames, check_frame_steps
from headrace.herder.unknown_keys import idle_topic_creation, other_versions, unknown_keys
from headrace.java.connector import JavaConnector, defines_properties
from headrace.model.cluster_config_state import Config
from headrace.plugins.config_transformer import ConfigTransformer
from headrace.plugins.discovery import Plugins
from headrace.plugins.override_policies import override_policy
from headrace.plugins.resolved_config import ResolvedConfig
from headrace.plugins.secret_options import secret_definitions

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CheckedConfig:
    """A configuration that may be stored, and a line for each of its properties that has no effect."""

    config: dict[str, str | None]
    warnings: tuple[str, ...]


class ConnectorValidator:
    """Runs code of plugins and may import them, so never on the herder's thread; may be used from any other."""

    def __init__(
        self,
        worker: WorkerConfig,
        plugins: Plugins,
        policy: ConnectorClientConfigOverridePolicy | None = None,
        transformer: ConfigTransformer | None = None,
        analyse: Analyse = lambda job: None,
    ) -> None:
        """Create it; ``policy`` is by default ``worker``'s, without ``transformer`` references stay as written.

        ``analyse`` submits steps on frames, and the connectors' own checks, to Spark.
        """
        self._analyse = analyse
        self._worker = worker
        self._plugins = plugins
        self._policy = policy or override_policy(worker, plugins)
        self._transformer = transformer or ConfigTransformer({})

    def check(self, name: str, config: Config) -> CheckedConfig:
        """Return the configuration as it is to be stored: as the user gave it, with the connector's name in it.

        Warns of properties without effect. Raise BadRequestError with all errors; ConnectError if the plugin itself is
        broken, RetriableError if a config provider cannot answer now.
        """
        given = config.get(NAME)
        if given is not None and given != name:
            raise BadRequestError(
                f"Connector name configuration ({given}) doesn't match connector name in the request ({name})"
            )
        complete = {**config, NAME: name}
        infos = self._validation(complete)
        warnings = infos.warnings or ()
        for line in warnings:
            log.warning("Connector %s: %s", name, line)
        if infos.error_count:
            raise BadRequestError(invalid_message(infos))
        return CheckedConfig(complete, warnings)

    def validate(self, requested: str, config: Config) -> ConfigInfos:
        """Return every property with its definition, its value as written and all its errors.

        ``requested`` is the class that the request is about. Raise BadRequestError if the configuration has another
        one, or none, or one that does not exist; ConnectError and RetriableError as ``check``.
        """
        included = config.get(CONNECTOR_CLASS)
        if included and included.strip() and not self._same_class(included, requested):
            raise BadRequestError(f"Included connector type {included} does not match request type {requested}")
        return self._validation(config)

    def plugin_config(self, name: str) -> tuple[ConfigKeyInfo, ...]:
        """Return the properties that a plugin of any kind has; see ``plugin_config``."""
        return plugin_config(self._plugins, name)

    def _same_class(self, included: str, requested: str) -> bool:
        """Compare by name, as in Java; or by class, if both are names of one."""
        if included.strip().removesuffix("Connector").endswith(requested.strip().removesuffix("Connector")):
            return True
        try:
            return self._plugins.connector(included) is self._plugins.connector(requested)
        except ConfigError:
            return False

    def _validation(self, config: Config) -> ConfigInfos:
        resolved = self._transformer.transform(config)
        with _concealed(resolved):
            connector = self._instance(resolved.config)
            named = NamedPlugins(self._plugins, resolved.config)
            findings = self._findings(connector, resolved.config, named)
            infos = findings.infos(config.get(CONNECTOR_CLASS) or "", resolved.conceal)
            with _plugin_call(connector, "version"):
                version = connector.version()
            versions = {CONNECTOR_CLASS: version, **named.versions}
            unknown = unknown_keys(resolved.config, findings.names, findings.complete)
            warnings = (*unknown, *other_versions(config, versions), *self._idle(connector, resolved.config))
            return replace(infos, warnings=warnings or None)

    def _idle(self, connector: Connector, config: Config) -> Iterator[str]:
        if isinstance(connector, SourceConnector):
            yield from idle_topic_creation(config, self._worker.topic_creation_enabled)

    def _instance(self, config: Config) -> Connector:
        name = config.get(CONNECTOR_CLASS)
        if name is None or not name.strip():
            raise BadRequestError(f"The configuration of connector {config.get(NAME)} lacks {CONNECTOR_CLASS}")
        if name != name.strip():
            # As in Java: tools that compare names would not recognize the class by a name with spaces around it.
            raise BadRequestError(f"Invalid value '{name}' for configuration {CONNECTOR_CLASS}: no spaces around it")
        try:
            cls = self._plugins.connector(name)
        except ConfigError as error:
            raise BadRequestError(error_text(error)) from error
        if not issubclass(cls, (SourceConnector, SinkConnector)):
            raise BadRequestError(f"Connector class {name} is neither a SourceConnector nor a SinkConnector")
        if missing := sorted(getattr(cls, "__abstractmethods__", ())):
            raise BadRequestError(
                f"Connector class {name} lacks methods that a connector has to have: {', '.join(missing)}"
            )
        try:
            return cls()
        except BaseException as error:
            raise ConnectError(f"Connector class {name} cannot be instantiated: {error_line(error)}") from error

    def _findings(self, connector: Connector, config: Config, named: NamedPlugins) -> Findings:
        """Return the runtime's own findings first, then the connector's, then those that concern both."""
        findings = Findings()
        raw = {key: value for key, value in config.items() if value is not None}
        runtime = SourceConnectorConfig if isinstance(connector, SourceConnector) else SinkConnectorConfig
        definition = runtime_definition(runtime.DEFINITION, self._worker, config, named)
        if runtime is SourceConnectorConfig and self._worker.topic_creation_enabled:
            definition = ConfigDef(definition, topic_creation_definition(config))
        converters = converter_definition(config, named)
        findings.define(definition)
        findings.add(named.validate(definition, config))
        if findings.is_valid():
            _check_combinations(findings, runtime, config)
        for key, value in config.items():
            if value is None:
                findings.add_message(key, f"Null value can not be supplied as the configuration value of {key}.")
        secrets = secret_definitions(raw)
        findings.define(secrets)
        findings.add(secrets.validate(raw))
        self._check_runtime(findings, connector, raw)
        self._check_connector(findings, connector, raw)
        findings.define(override_definitions(raw))
        findings.define(converters)
        findings.add(named.validate(converters, with_converter_types(config)))
        runtime_checks.check_masks(findings, raw)
        if findings.is_valid():
            with _plugin_call(connector, "frame_check"):
                check_by_frames(findings, connector, raw, self._analyse)
        return findings

    def _check_runtime(self, findings: Findings, connector: Connector, raw: Mapping[str, str]) -> None:
        if isinstance(connector, SourceConnector):
            runtime_checks.check_exactly_once(findings, self._worker, connector, raw)
            runtime_checks.check_boundaries(findings, connector, raw)
        else:
            runtime_checks.check_topics(findings, raw)
            runtime_checks.check_consumer_group(findings, self._worker, raw)
        check_overrides(findings, self._policy, connector, raw)
        runtime_checks.check_command(findings, self._worker, raw)
        if findings.is_valid():
            check_frame_steps(findings, connector, raw, self._plugins, self._analyse)

    def _check_connector(self, findings: Findings, connector: Connector, raw: Mapping[str, str]) -> None:
        with _plugin_call(connector, "config"):
            definition = connector.config()
            if not isinstance(definition, ConfigDef):
                raise TypeError("it returns no ConfigDef")
        findings.define(definition)
        in_java = isinstance(connector, JavaConnector)
        findings.complete = not in_java or defines_properties(definition)
        # A Java connector finds classes in its own jars.
        refused = {} if in_java else self._refused_classes(definition, raw)
        for name, message in refused.items():
            findings.add_message(name, message)
        # Classes that it would import by itself are left out.
        allowed = {name: value for name, value in raw.items() if name not in refused}
        with _plugin_call(connector, "validate"):
            findings.add(value for value in connector.validate(allowed) if value.name not in refused)

    def _refused_classes(self, definition: ConfigDef, raw: Mapping[str, str]) -> dict[str, str]:
        """Return errors by property for classes in modules that this worker imports nothing from."""
        refused = {}
        for key in definition.config_keys.values():
            if key.type is Type.CLASS and key.name in raw:
                try:
                    self._plugins.load_class(raw[key.name].strip())
                except LookupError as error:
                    refused[key.name] = str(ConfigError.invalid(key.name, raw[key.name], str(error)))
        return refused


def _check_combinations(
    findings: Findings, runtime: type[SourceConnectorConfig] | type[SinkConnectorConfig], config: Config
) -> None:
    """Check combinations of properties, once each is valid by itself, by building the configuration of a task."""
    try:
        runtime(config)
    except ConfigError as error:
        findings.add_error(error)


@contextmanager
def _plugin_call(connector: Connector, method: str) -> Iterator[None]:
    """Distinguish a connector's refusal (its ``ConnectError``) from a defect (any other error)."""
    name = type(connector).__qualname__
    try:
        yield
    except ConnectError as error:
        raise BadRequestError(f"{name}.{method} refused the configuration: {error_text(error)}") from error
    except BaseException as error:
        raise ConnectError(f"{name}.{method} failed: {error_line(error)}") from error


@contextmanager
def _concealed(resolved: ResolvedConfig) -> Iterator[None]:
    """Replace values by references in errors raised inside."""
    try:
        yield
    except ConnectError as error:
        if not resolved.values and not resolved.secrets:
            raise
        _raise_concealed(resolved, error)


def _raise_concealed(resolved: ResolvedConfig, error: ConnectError) -> NoReturn:
    text = resolved.hide(error_text(error))
    for kind in (BadRequestError, RetriableError):
        if isinstance(error, kind):
            raise kind(text) from None
    raise ConnectError(text) from None


def invalid_message(infos: ConfigInfos) -> str:
    """Return the message in Java's words, as far as they go, in one line."""
    errors = "; ".join(infos.errors)
    return f"Connector configuration is invalid and contains the following {infos.error_count} error(s): {errors}"
