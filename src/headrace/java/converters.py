# SPDX-License-Identifier: Apache-2.0
"""Java's converters and header converters as headrace's: each instance is one of Java's.

The JVM starts when one is configured, which the processes of tasks do; the worker itself configures none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from headrace.api.config_def import ConfigDef
from headrace.api.converter import Converter, HeaderConverter, SchemaAndValue
from headrace.api.headers import Headers
from headrace.api.schema import Schema
from headrace.java.arrays import WORTH_COLUMNS
from headrace.java.converter_columns import ConverterColumns
from headrace.java.data import java_bytes, java_map, java_schema, java_value, python_schema, python_value
from headrace.java.descriptions import describe
from headrace.java.errors import java_errors
from headrace.java.instances import HeldInstance, class_loader_of, held_instance, public_methods
from headrace.java.jvm import Jars, java_class
from headrace.java.raw_headers import add_new_headers, raw_headers


def converter_class(jars: Jars, name: str) -> type[Converter]:
    """Return the class of a Java converter."""
    return type(simple_name(name), (JavaConverter,), {"jars": jars, "java_name": name, "__module__": __name__})


def header_converter_class(jars: Jars, name: str) -> type[HeaderConverter]:
    """Return the class of a Java header converter."""
    return type(simple_name(name), (JavaHeaderConverter,), {"jars": jars, "java_name": name, "__module__": __name__})


def simple_name(name: str) -> str:
    """Return a Java class's name without its package."""
    return name.rpartition(".")[2]


class PluginInstance:
    """A plugin's Java class, and the instance of it once it is created. A subclass names jars and class."""

    jars: ClassVar[Jars]
    java_name: ClassVar[str]
    java: Any = None

    def version(self) -> str:
        return describe(self.jars, self.java_name).version

    def config(self) -> ConfigDef:
        return describe(self.jars, self.java_name).config

    def create(self, configs: Mapping[str, Any], *more: Any) -> None:
        """Create the instance and configure it."""
        self.java = held_instance(self.jars, self.java_name)
        with java_errors(), class_loader_of(self.java):
            self.java.configure(java_map(configs), *more)

    def close(self) -> None:
        if self.java is not None:
            with java_errors(), class_loader_of(self.java):
                if hasattr(self.java, "close"):
                    self.java.close()


class JavaConverter(PluginInstance, Converter):
    """A Java converter of keys or values."""

    _with_headers = False

    def configure(self, configs: Mapping[str, Any], is_key: bool) -> None:
        self.create(configs, is_key)
        self._with_headers = _overrides_headers(self.java)
        self._columns = ConverterColumns(self.java)

    @property
    def uses_headers(self) -> bool:
        """True if the converter reads or adds headers; false before it is configured."""
        return self._with_headers

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        theirs, converted = java_schema(schema), java_value(schema, value)
        with java_errors():
            return _bytes(self.java.fromConnectData(topic, theirs, converted))

    def to_connect_data(self, topic: str, value: bytes | None) -> SchemaAndValue:
        with java_errors():
            return _schema_and_value(self.java.toConnectData(topic, _array(value)))

    def from_connect_columns(
        self, topic: str, schemas: Sequence[Schema | None], values: Sequence[Any]
    ) -> list[bytes | None] | None:
        if self._with_headers or len(values) < WORTH_COLUMNS:
            return None
        return self._columns.to_bytes(topic, schemas, values)

    def to_connect_columns(self, topics: Sequence[str], column: Sequence[bytes | None]) -> list[SchemaAndValue] | None:
        if self._with_headers or len(column) < WORTH_COLUMNS:
            return None
        return self._columns.to_data(topics, column)

    def from_connect_data_with_headers(
        self, topic: str, headers: Headers, schema: Schema | None, value: Any
    ) -> bytes | None:
        if not self._with_headers:
            return self.from_connect_data(topic, schema, value)
        raw, theirs, converted = raw_headers({}), java_schema(schema), java_value(schema, value)
        with java_errors():
            result = _bytes(self.java.fromConnectData(topic, raw, theirs, converted))
        add_new_headers(headers, raw)
        return result

    def to_connect_data_with_headers(
        self, topic: str, headers: Mapping[str, bytes | None], value: bytes | None
    ) -> SchemaAndValue:
        if not self._with_headers:
            return self.to_connect_data(topic, value)
        with java_errors():
            return _schema_and_value(self.java.toConnectData(topic, raw_headers(headers), _array(value)))


class JavaHeaderConverter(PluginInstance, HeaderConverter):
    """A Java header converter."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        # As Java's `Plugins.newHeaderConverter` does: those that are converters of values, too, require it.
        self.create({**configs, "converter.type": "header"})

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        theirs, converted = java_schema(schema), java_value(schema, value)
        with java_errors():
            return _bytes(self.java.fromConnectHeader(topic, key, theirs, converted))

    def to_connect_header(self, topic: str, key: str, value: bytes | None) -> SchemaAndValue:
        with java_errors():
            return _schema_and_value(self.java.toConnectHeader(topic, key, _array(value)))


def _overrides_headers(converter: HeldInstance) -> bool:
    """Return True if a Java converter may have code of its own for headers."""
    interface = java_class("org.apache.kafka.connect.storage.Converter").class_
    methods = public_methods(converter)
    return methods is None or any(
        int(method.getParameterCount()) > 2
        and "Headers" in [str(kind.getSimpleName()) for kind in method.getParameterTypes()]
        and not method.getDeclaringClass().equals(interface)
        for method in methods
        if str(method.getName()) in ("fromConnectData", "toConnectData")
    )


def _schema_and_value(result: Any) -> SchemaAndValue:
    if result is None:
        return SchemaAndValue(None, None)
    schema = result.schema()
    return SchemaAndValue(python_schema(schema), python_value(schema, result.value()))


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)


def _array(value: bytes | None) -> Any:
    return None if value is None else java_bytes(value)
