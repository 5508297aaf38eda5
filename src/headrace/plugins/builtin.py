# SPDX-License-Identifier: Apache-2.0
"""The kinds of plugins, the built-in plugins, and the names of the Java classes that they stand for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from headrace import KAFKA_VERSION, __version__

JAVA_PREFIX: Final = "java:"
"""The beginning of a target that is a Java class in a jar, and of no built-in plugin."""


class PluginKind(Enum):
    """A kind of plugin; the value is the entry point group without ``headrace.``."""

    CONNECTOR = "connectors"
    TASK = "tasks"
    CONVERTER = "converters"
    HEADER_CONVERTER = "header_converters"
    TRANSFORMATION = "transformations"
    PREDICATE = "predicates"
    CONFIG_PROVIDER = "config_providers"
    CLIENT_OVERRIDE_POLICY = "client_override_policies"
    REST_EXTENSION = "rest_extensions"
    FUNCTIONS = "functions"
    """Functions that no configuration names; ``installed.register_plugins`` calls them all."""

    @property
    def group(self) -> str:
        return f"headrace.{self.value}"

    @property
    def type(self) -> str:
        """The type in REST answers, such as header_converter; for connectors it is source or sink instead."""
        return "client_override_policy" if self is PluginKind.CLIENT_OVERRIDE_POLICY else self.value.removesuffix("s")

    @property
    def noun(self) -> str:
        """The name of the kind in messages, such as header converter."""
        return self.type.replace("_", " ")


@dataclass(frozen=True, slots=True)
class KnownPlugin:
    """A plugin that is known by name: ``target`` is ``module:Class``, ``java`` the class of Kafka that it stands for.

    If ``type`` is not None, it and the ``version`` are known without an import.
    """

    kind: PluginKind
    target: str
    java: str | None = None
    type: str | None = None
    alias: str | None = None
    """Another short name: that of the entry point."""
    path: str | None = None
    """The dotted name that users know and that is stored, wherever the module is; None if it is the target's."""
    java_version: str | None = None
    """The version of a plugin in Java, by its jar."""

    @property
    def module(self) -> str:
        return self.target.partition(":")[0]

    @property
    def class_name(self) -> str:
        """The name that is listed and stored: Java's where there is one."""
        return self.java or self.path or self.target.replace(":", ".")

    @property
    def version(self) -> str:
        """The version of a Java plugin, or of a built-in one: Kafka's if it stands for a class of Kafka."""
        return self.java_version or (__version__ if self.java is None else KAFKA_VERSION)

    def names(self) -> Iterator[str]:
        """Iterate over all names of the plugin. Java: ``PluginUtils`` for the short ones."""
        yield self.target
        yield self.target.replace(":", ".")
        if self.path:
            yield self.path
            yield ":".join(self.path.rsplit(".", 1))
        for full in filter(None, (self.java, self.target)):
            yield full
            simple = full.replace(":", ".").rpartition(".")[2]
            yield simple
            yield simple.removesuffix(_SUFFIXES.get(self.kind, "")) or simple
        if self.alias:
            yield self.alias


_SUFFIXES: Final = {
    PluginKind.CONNECTOR: "Connector",
    PluginKind.CONVERTER: "Converter",
    PluginKind.HEADER_CONVERTER: "HeaderConverter",
    PluginKind.TRANSFORMATION: "Transformation",
    PluginKind.PREDICATE: "Predicate",
    PluginKind.CONFIG_PROVIDER: "ConfigProvider",
    PluginKind.CLIENT_OVERRIDE_POLICY: "ConnectorClientConfigOverridePolicy",
    PluginKind.REST_EXTENSION: "RestExtension",
}
_KAFKA: Final = "org.apache.kafka.connect"

# Per connector: package, module, name, Java's package if there is such a class, type. Its task is in the same module.
_CONNECTORS: Final = (
    ("file_stream", "file_stream_sink", "FileStreamSink", "file", "sink"),
    ("file_stream", "file_stream_source", "FileStreamSource", "file", "source"),
    ("testing", "mock_connectors", "MockSink", "tools", "sink"),
    ("testing", "mock_connectors", "MockSource", "tools", "source"),
    ("testing", "schema_source", "SchemaSource", "tools", "source"),
    ("testing", "verifiable_sink", "VerifiableSink", "tools", "sink"),
    ("testing", "verifiable_source", "VerifiableSource", "tools", "source"),
    ("sample", "orders_source", "OrdersSource", None, "source"),
    ("singer", "singer_sink", "SingerSink", None, "sink"),
    ("singer", "singer_source", "SingerSource", None, "source"),
    ("spark_files", "spark_file_source", "SparkFileSource", None, "source"),
    ("spark_sink", "spark_sink", "SparkSink", None, "sink"),
    ("spark_table", "spark_table_source", "SparkTableSource", None, "source"),
)

# Per converter: module, Java's package, class. In Java too these classes are both kinds of converter.
_CONVERTERS: Final = (
    ("boolean_converter", "converters", "BooleanConverter"),
    ("byte_array_converter", "converters", "ByteArrayConverter"),
    ("json_converter", "json", "JsonConverter"),
    ("number_converters", "converters", "DoubleConverter"),
    ("number_converters", "converters", "FloatConverter"),
    ("number_converters", "converters", "IntegerConverter"),
    ("number_converters", "converters", "LongConverter"),
    ("number_converters", "converters", "ShortConverter"),
    ("string_converter", "storage", "StringConverter"),
)

# Per transformation: module, class. For each part of a record Java has a nested class, Python a class with a suffix.
_HALVES: Final = (
    ("cast", "Cast"),
    ("extract_field", "ExtractField"),
    ("flatten", "Flatten"),
    ("header_from", "HeaderFrom"),
    ("hoist_field", "HoistField"),
    ("insert_field", "InsertField"),
    ("mask_field", "MaskField"),
    ("replace_field", "ReplaceField"),
    ("set_schema_metadata", "SetSchemaMetadata"),
    ("timestamp_converter", "TimestampConverter"),
)
_WHOLE: Final = (
    ("drop_headers", "DropHeaders"),
    ("filter", "Filter"),
    ("insert_header", "InsertHeader"),
    ("regex_router", "RegexRouter"),
    ("timestamp_router", "TimestampRouter"),
    ("value_to_key", "ValueToKey"),
)
_PREDICATES: Final = ("HasHeaderKey", "RecordIsTombstone", "TopicNameMatches")

# Per config provider: module, class, short name.
_CONFIG_PROVIDERS: Final = (
    ("directory_config_provider", "DirectoryConfigProvider", "dir"),
    ("env_var_config_provider", "EnvVarConfigProvider", "env"),
    ("file_config_provider", "FileConfigProvider", "file"),
)
_OVERRIDE_POLICIES: Final = ("All", "Allowlist", "None", "Principal")


def _snake(name: str) -> str:
    """Return the last module of the dotted name that users know: the class's name, in lower case."""
    return re.sub("(?<!^)(?=[A-Z])", "_", name).lower()


def _connectors() -> Iterator[KnownPlugin]:
    for package, module, name, javas, type in _CONNECTORS:
        target = f"headrace.connectors.{package}.{module}:{name}"
        path = f"headrace.connectors.{_snake(name)}.{name}"
        java = f"{_KAFKA}.{javas}.{name}" if javas else None
        for kind, suffix in ((PluginKind.CONNECTOR, "Connector"), (PluginKind.TASK, "Task")):
            yield KnownPlugin(
                kind,
                f"{target}{suffix}",
                java and f"{java}{suffix}",
                type if kind is PluginKind.CONNECTOR else None,
                path=f"{path}{suffix}",
            )


def _converters() -> Iterator[KnownPlugin]:
    for kind in (PluginKind.CONVERTER, PluginKind.HEADER_CONVERTER):
        for module, package, name in _CONVERTERS:
            yield KnownPlugin(kind, f"headrace.converters.{module}:{name}", f"{_KAFKA}.{package}.{name}", kind.type)
    target = "headrace.converters.simple_header_converter:SimpleHeaderConverter"
    yield KnownPlugin(kind, target, f"{_KAFKA}.storage.SimpleHeaderConverter", kind.type)


def _transformations() -> Iterator[KnownPlugin]:
    kind, java = PluginKind.TRANSFORMATION, f"{_KAFKA}.transforms"
    for module, name in _HALVES:
        for half in ("Key", "Value"):
            yield KnownPlugin(kind, f"headrace.transforms.{module}:{name}{half}", f"{java}.{name}${half}", kind.type)
    for module, name in _WHOLE:
        yield KnownPlugin(kind, f"headrace.transforms.{module}:{name}", f"{java}.{name}", kind.type)
    yield KnownPlugin(kind, "headrace.transforms.spark_sql:SparkSql", type=kind.type)


def _predicates() -> Iterator[KnownPlugin]:
    kind, java = PluginKind.PREDICATE, f"{_KAFKA}.transforms.predicates"
    for name in _PREDICATES:
        target, path = f"headrace.transforms.predicates:{name}", f"headrace.transforms.predicates.{_snake(name)}.{name}"
        yield KnownPlugin(kind, target, f"{java}.{name}", kind.type, path=path)


def _workers_own() -> Iterator[KnownPlugin]:
    """Iterate over the plugins that only a worker's configuration names."""
    kind, java = PluginKind.CONFIG_PROVIDER, "org.apache.kafka.common.config.provider"
    for module, name, alias in _CONFIG_PROVIDERS:
        target = f"headrace.plugins.config_providers.{module}:{name}"
        yield KnownPlugin(kind, target, f"{java}.{name}", kind.type, alias)
    kind, java = PluginKind.CLIENT_OVERRIDE_POLICY, f"{_KAFKA}.connector.policy"
    for short in _OVERRIDE_POLICIES:
        name = f"{short}ConnectorClientConfigOverridePolicy"
        yield KnownPlugin(kind, f"headrace.plugins.override_policies:{name}", f"{java}.{name}", kind.type)
    kind, name = PluginKind.REST_EXTENSION, "BasicAuthSecurityRestExtension"
    java = f"{_KAFKA}.rest.basic.auth.extension.{name}"
    yield KnownPlugin(kind, f"headrace.rest.basic_auth:{name}", java, kind.type)


BUILT_IN: Final = (*_connectors(), *_converters(), *_transformations(), *_predicates(), *_workers_own())
