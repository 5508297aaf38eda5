# SPDX-License-Identifier: Apache-2.0
"""The plugins that come with headrace, and the Java classes whose names they answer to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final


class PluginKind(Enum):
    """A kind of plugin: the value is the entry point group without ``headrace.``."""

    CONNECTOR = "connectors"
    TASK = "tasks"
    CONVERTER = "converters"
    HEADER_CONVERTER = "header_converters"
    TRANSFORMATION = "transformations"
    PREDICATE = "predicates"

    @property
    def group(self) -> str:
        return f"headrace.{self.value}"

    @property
    def noun(self) -> str:
        """For messages: header converter."""
        return self.value.removesuffix("s").replace("_", " ")

    @property
    def type(self) -> str:
        """What REST calls the type: header_converter. Of connectors it is source or sink instead."""
        return self.value.removesuffix("s")


@dataclass(frozen=True, slots=True)
class KnownPlugin:
    """A plugin that can be named: ``target`` is ``module:Class``, ``java`` the class of Kafka's it stands for.

    ``type`` and ``version`` are known without an import where they are not None.
    """

    kind: PluginKind
    target: str
    java: str | None = None
    type: str | None = None
    alias: str | None = None
    """An entry point's name."""

    @property
    def class_name(self) -> str:
        """The name it is listed and stored under: Java's where there is one."""
        return self.java or self.target.replace(":", ".")

    def names(self) -> Iterator[str]:
        """All names that mean it: Java: ``PluginUtils`` for the short ones."""
        yield self.target
        yield self.target.replace(":", ".")
        for full in filter(None, (self.java, self.target)):
            yield full
            simple = full.replace(":", ".").rpartition(".")[2]
            yield simple
            if self.kind is not PluginKind.TASK:
                yield simple.removesuffix(_SUFFIXES.get(self.kind, "")) or simple
        if self.alias:
            yield self.alias


_SUFFIXES: Final = {
    PluginKind.CONNECTOR: "Connector",
    PluginKind.CONVERTER: "Converter",
    PluginKind.HEADER_CONVERTER: "HeaderConverter",
    PluginKind.TRANSFORMATION: "Transformation",
    PluginKind.PREDICATE: "Predicate",
}

_FILE: Final = "headrace.connectors.file_stream_source"
_VERIFIABLE: Final = "headrace.connectors.verifiable_source"
_BYTES: Final = "headrace.converters.byte_array_converter:ByteArrayConverter"
_JSON: Final = "headrace.converters.json_converter:JsonConverter"
_SIMPLE_HEADER: Final = "headrace.converters.simple_header_converter:SimpleHeaderConverter"
_STRING: Final = "headrace.converters.string_converter:StringConverter"
_KAFKA: Final = "org.apache.kafka.connect"

BUILT_IN: Final = (
    KnownPlugin(
        PluginKind.CONNECTOR,
        f"{_FILE}:FileStreamSourceConnector",
        f"{_KAFKA}.file.FileStreamSourceConnector",
        "source",
    ),
    KnownPlugin(PluginKind.TASK, f"{_FILE}:FileStreamSourceTask", f"{_KAFKA}.file.FileStreamSourceTask"),
    KnownPlugin(
        PluginKind.CONNECTOR,
        f"{_VERIFIABLE}:VerifiableSourceConnector",
        f"{_KAFKA}.tools.VerifiableSourceConnector",
        "source",
    ),
    KnownPlugin(PluginKind.TASK, f"{_VERIFIABLE}:VerifiableSourceTask", f"{_KAFKA}.tools.VerifiableSourceTask"),
    KnownPlugin(PluginKind.CONVERTER, _BYTES, f"{_KAFKA}.converters.ByteArrayConverter", "converter"),
    KnownPlugin(PluginKind.CONVERTER, _JSON, f"{_KAFKA}.json.JsonConverter", "converter"),
    KnownPlugin(PluginKind.CONVERTER, _STRING, f"{_KAFKA}.storage.StringConverter", "converter"),
    # In Java too these classes are both kinds of converter.
    KnownPlugin(PluginKind.HEADER_CONVERTER, _BYTES, f"{_KAFKA}.converters.ByteArrayConverter", "header_converter"),
    KnownPlugin(PluginKind.HEADER_CONVERTER, _JSON, f"{_KAFKA}.json.JsonConverter", "header_converter"),
    KnownPlugin(PluginKind.HEADER_CONVERTER, _STRING, f"{_KAFKA}.storage.StringConverter", "header_converter"),
    KnownPlugin(
        PluginKind.HEADER_CONVERTER, _SIMPLE_HEADER, f"{_KAFKA}.storage.SimpleHeaderConverter", "header_converter"
    ),
)
