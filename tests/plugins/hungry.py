# SPDX-License-Identifier: Apache-2.0
"""Connectors that take all the memory there is, once: while the file `eat.once` is there, which they remove first."""

from __future__ import annotations

import os
import resource
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from numbered_source import NumberedSourceConnector, NumberedSourceTask

from headrace.api import SourceRecord, SourceTask
from headrace.api.connector import Task
from headrace.connectors.file_stream.file_stream_sink import FileStreamSinkConnector, FileStreamSinkTask

_CHUNK = 4 << 20
_MOST = 4 << 30
_LEFT = 48 << 20
_LATE = 5
_eaten: list[Any] = []


class Meal:
    """Of a process: until Python itself refuses, or the kernel, if it is in the control group `eat.cgroup`."""

    def __init__(self, props: Mapping[str, str]) -> None:
        self._once = Path(props["eat.once"])
        self._group = props.get("eat.cgroup")

    def begin(self) -> None:
        if not self._once.exists():
            return
        self._once.unlink()
        if self._group:
            Path(self._group, "cgroup.procs").write_text(str(os.getpid()))
        else:
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + _LEFT, resource.RLIM_INFINITY))
        while len(_eaten) * _CHUNK < _MOST:
            _eaten.append(b"x" * _CHUNK)


class HungrySourceConnector(NumberedSourceConnector):
    def task_class(self) -> type[SourceTask]:
        return HungrySourceTask


class HungrySourceTask(NumberedSourceTask):
    def start(self, props: Mapping[str, str]) -> None:
        super().start(props)
        self._meal = Meal(props)

    def poll(self) -> list[SourceRecord] | None:
        records = super().poll()
        if self._polls == _LATE:
            self._meal.begin()
        return records


class HungrySinkConnector(FileStreamSinkConnector):
    def task_class(self) -> type[Task]:
        return HungrySinkTask


class HungrySinkTask(FileStreamSinkTask):
    def start(self, props: Mapping[str, str]) -> None:
        super().start(props)
        self._meal = Meal(props)

    def put_table(self, table: pa.Table) -> None:
        self._meal.begin()
        super().put_table(table)


class EngineFillerConnector(NumberedSourceConnector):
    """Fills the heap of Spark's JVM from the worker, on a thread of the JVM that lives on without its memory."""

    def start(self, props: Mapping[str, str]) -> None:
        from py4j.protocol import Py4JError
        from pyspark import SparkContext

        super().start(props)
        context: Any = SparkContext._active_spark_context
        try:
            while True:
                _eaten.append(context._gateway.new_array(context._jvm.long, 4 << 20))
        except (Py4JError, OSError):
            pass
