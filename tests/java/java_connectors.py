# SPDX-License-Identifier: Apache-2.0
"""Java connectors for tests: Kafka's own, Debezium's, and those that are compiled here."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headrace import KAFKA_VERSION
from headrace.api.plugin_metrics import PluginMetrics
from headrace.api.source import OffsetStorageReader, SourceConnectorContext
from headrace.java.jvm import runtime_jars
from headrace.jvm.ivy import resolve_jars
from headrace.jvm.java_runtime import find_java
from headrace.metrics.plugin_metrics import OwnPluginMetrics, PluginRegistry
from tests.support.debian import or_skip

FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
FILE_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
MOCK_SOURCE = "org.apache.kafka.connect.tools.MockSourceConnector"
POSTGRES = "io.debezium.connector.postgresql.PostgresConnector"


@dataclass(frozen=True)
class Plugin:
    """A connector's class and its jars."""

    class_name: str
    jars: tuple[Path, ...]


def kafkas(class_name: str) -> Plugin:
    """A connector of Kafka's distribution."""
    module = "connect-file" if class_name.startswith("org.apache.kafka.connect.file") else "connect-test-plugins"
    return Plugin(class_name, or_skip(lambda: resolve_jars([f"org.apache.kafka:{module}:{KAFKA_VERSION}"])))


def debezium() -> Plugin:
    return Plugin(POSTGRES, or_skip(lambda: resolve_jars(["io.debezium:debezium-connector-postgres:3.3.1.Final"])))


def odd_source(directory: Path) -> Plugin:
    return compiled("OddSource", directory)


def compiled(name: str, directory: Path) -> Plugin:
    """A connector of this directory, compiled into a jar of its own; the test is skipped without a compiler."""
    home = find_java().home
    if not (home / "bin" / "javac").exists():
        pytest.skip(f"{home} has no javac")
    jars = or_skip(runtime_jars)
    source, jar = Path(__file__).with_name(f"{name}.java"), directory / f"{name}.jar"
    directory.mkdir(parents=True, exist_ok=True)
    classpath = ":".join(map(str, jars))
    with tempfile.TemporaryDirectory() as classes:
        subprocess.run([home / "bin" / "javac", "-cp", classpath, "-d", classes, source], check=True)
        subprocess.run([home / "bin" / "jar", "cf", jar, "-C", classes, "."], check=True)
    return Plugin(name, (jar,))


class KeptOffsets(OffsetStorageReader):
    """Offsets by the value of `odd` in the partition."""

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        return {"at": 5} if partition == {"odd": 1} else None

    def offsets(self, partitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        return [self.offset(partition) for partition in partitions]


class KeptContext(SourceConnectorContext):
    """A context that keeps what a connector requests."""

    def __init__(self) -> None:
        self.reconfigurations = 0
        self.errors: list[BaseException] = []
        self.registry = PluginRegistry()

    def request_task_reconfiguration(self) -> None:
        self.reconfigurations += 1

    def raise_error(self, error: BaseException) -> None:
        self.errors.append(error)

    def plugin_metrics(self) -> PluginMetrics:
        return OwnPluginMetrics(self.registry)

    @property
    def offset_storage_reader(self) -> OffsetStorageReader:
        return KeptOffsets()
