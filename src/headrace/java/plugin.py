# SPDX-License-Identifier: Apache-2.0
"""A plugin that is written in Java: its kind, its class, and the jars that it is loaded from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

_KAFKA: Final = "org.apache.kafka.connect"
_MARK: Final = "__java_class__"


class JavaKind(str, Enum):
    """A kind of Java plugin; tasks are found with their connectors."""

    SOURCE = "source"
    SINK = "sink"
    SOURCE_TASK = "source_task"
    SINK_TASK = "sink_task"
    CONVERTER = "converter"
    HEADER_CONVERTER = "header_converter"
    TRANSFORMATION = "transformation"
    PREDICATE = "predicate"

    @property
    def base(self) -> str:
        """The class of Kafka Connect that its plugins extend or implement."""
        return _BASES[self]


_BASES: Final = {
    JavaKind.SOURCE: f"{_KAFKA}.source.SourceConnector",
    JavaKind.SINK: f"{_KAFKA}.sink.SinkConnector",
    JavaKind.SOURCE_TASK: f"{_KAFKA}.source.SourceTask",
    JavaKind.SINK_TASK: f"{_KAFKA}.sink.SinkTask",
    JavaKind.CONVERTER: f"{_KAFKA}.storage.Converter",
    JavaKind.HEADER_CONVERTER: f"{_KAFKA}.storage.HeaderConverter",
    JavaKind.TRANSFORMATION: f"{_KAFKA}.transforms.Transformation",
    JavaKind.PREDICATE: f"{_KAFKA}.transforms.predicates.Predicate",
}


@dataclass(frozen=True, slots=True)
class JavaPlugin:
    """One kind of plugin that a Java class is; a class may be two, such as both kinds of converter.

    ``location`` is the directory or the jar in ``plugin.path`` that the plugin is from, ``jars`` are all in there.
    """

    kind: JavaKind
    class_name: str
    version: str
    jars: tuple[Path, ...]
    location: Path


def java_class_of(cls: type) -> str | None:
    """Return the name of the Java class that a Python class stands for; None if it stands for none."""
    name: str | None = vars(cls).get(_MARK)
    return name


def stand_for(cls: type, java_class: str) -> None:
    """Have a Python class stand for a class of Java's, whatever it is derived from."""
    setattr(cls, _MARK, java_class)
