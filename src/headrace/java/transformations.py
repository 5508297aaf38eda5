# SPDX-License-Identifier: Apache-2.0
"""Java's transformations and predicates as headrace's, so that those of both languages mix in one chain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from headrace.api.record import ConnectRecord, SinkRecord, SourceRecord
from headrace.api.transform import Predicate, R, Transformation
from headrace.java.converters import PluginInstance, simple_name
from headrace.java.errors import java_errors
from headrace.java.jvm import Jars
from headrace.java.records import java_sink_record, java_source_record, with_contents


def transformation_class(jars: Jars, name: str) -> type[Transformation[Any]]:
    """Return the class of a Java transformation."""
    return type(simple_name(name), (JavaTransformation,), {"jars": jars, "java_name": name, "__module__": __name__})


def predicate_class(jars: Jars, name: str) -> type[Predicate[Any]]:
    """Return the class of a Java predicate."""
    return type(simple_name(name), (JavaPredicate,), {"jars": jars, "java_name": name, "__module__": __name__})


class JavaTransformation(PluginInstance, Transformation[R]):
    """A Java transformation."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        self.create(configs)

    def apply(self, record: R) -> R | None:
        """Return the transformed record, of the same origin; None if it is dropped."""
        with java_errors():
            changed = self.java.apply(_java_record(record))
        return None if changed is None else cast(R, with_contents(record, changed))


class JavaPredicate(PluginInstance, Predicate[R]):
    """A Java predicate."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        self.create(configs)

    def test(self, record: R) -> bool:
        with java_errors():
            return bool(self.java.test(_java_record(record)))


def _java_record(record: ConnectRecord) -> Any:
    if isinstance(record, SinkRecord):
        return java_sink_record(record)
    assert isinstance(record, SourceRecord)
    return java_source_record(record)
