# SPDX-License-Identifier: Apache-2.0
"""Connectors in Python whose tasks are Kafka's own Java ones; `mood` makes such a task behave badly."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headrace import KAFKA_VERSION
from headrace.api import ConfigDef, ExactlyOnceSupport, SourceConnector, SourceRecord, SourceTask
from headrace.api.sink import SinkConnector, SinkTask
from headrace.java.jvm import java_class
from headrace.java.sink_task import sink_task_class
from headrace.java.source_task import source_task_class
from headrace.jvm.ivy import resolve_jars

JARS = resolve_jars([f"org.apache.kafka:connect-{name}:{KAFKA_VERSION}" for name in ("file", "test-plugins")])
_LONG_MS = 3_600_000


class JavaLines(source_task_class(JARS, "org.apache.kafka.connect.file.FileStreamSourceTask")):  # type: ignore[misc]
    """The lines of a file. Once the file `when` is there, it is removed and the task does what `mood` says."""

    def start(self, props: Mapping[str, str]) -> None:
        super().start(props)
        self._mood, self._when = props.get("mood"), Path(props.get("when", "/nonexistent"))
        heap = int(java_class("java.lang.Runtime").getRuntime().maxMemory()) >> 20
        print(f"the JVM of process {os.getpid()} has a heap of {heap} MB")
        if self._mood == "lingers":
            java_class("java.util.Timer")("lingering", False)  # its thread is no daemon, and waits for ever

    def poll(self) -> list[SourceRecord] | None:
        if self._when.exists():
            self._when.unlink()
            if self._mood == "exits":
                java_class("java.lang.System").exit(3)
            if self._mood == "sleeps":
                java_class("java.lang.Thread").sleep(_LONG_MS)
        return super().poll()


class JavaNumbers(source_task_class(JARS, "org.apache.kafka.connect.tools.VerifiableSourceTask")):  # type: ignore[misc]
    """Numbers, each in a poll of its own."""


class JavaFile(sink_task_class(JARS, "org.apache.kafka.connect.file.FileStreamSinkTask")):  # type: ignore[misc]
    """Appends values to a file."""


class JavaLinesConnector(SourceConnector):
    """One task: the lines of `file`."""

    tasks: type[SourceTask] = JavaLines

    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)

    def task_class(self) -> type[SourceTask]:
        return self.tasks

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{**self._props, "id": "0"}]

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return ConfigDef()

    def exactly_once_support(self, props: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED


class JavaNumbersConnector(JavaLinesConnector):
    """One task: `throughput` numbers per second."""

    tasks = JavaNumbers


class JavaFileConnector(SinkConnector):
    """One task that writes to `file`."""

    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)

    def task_class(self) -> type[SinkTask]:
        return JavaFile

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, Any]]:
        return [self._props]

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return ConfigDef()
