# SPDX-License-Identifier: Apache-2.0
"""Java sink tasks as tasks of headrace."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from headrace.api.record import SinkRecord
from headrace.api.sink import OffsetAndMetadata, SinkTask, SinkTaskContext, TopicPartition
from headrace.java.data import java_map
from headrace.java.errant_records import ErrantRecords
from headrace.java.partitions import java_offsets, java_partitions, python_offsets
from headrace.java.put_records import PutRecords, java_put_records
from headrace.java.task_calls import JavaTask
from headrace.java.task_contexts import sink_task_context


class JavaSinkTask(SinkTask):
    """A task whose work a Java object does; ``sink_task_class`` makes a class for each Java class.

    The JVM starts with the constructor: to know the class takes none.
    """

    jars: ClassVar[tuple[Path, ...]]
    class_name: ClassVar[str]

    def __init__(self) -> None:
        self._task = JavaTask(self.jars, self.class_name)

    def version(self) -> str:
        with self._task.calling("version") as java:
            return str(java.version())

    def initialize(self, context: SinkTaskContext) -> None:
        super().initialize(context)
        reporter = context.errant_record_reporter
        errant = ErrantRecords(reporter) if reporter is not None else None
        with self._task.calling("initialize") as java:
            java.initialize(sink_task_context(context, errant))

    def start(self, props: Mapping[str, str]) -> None:
        with self._task.calling("start") as java:
            java.start(java_map(props))

    def open(self, partitions: Collection[TopicPartition]) -> None:
        with self._task.calling("open") as java:
            java.open(java_partitions(partitions))

    def close(self, partitions: Collection[TopicPartition]) -> None:
        with self._task.calling("close") as java:
            java.close(java_partitions(partitions))

    def put(self, records: Collection[SinkRecord]) -> None:
        java_records = java_put_records(records if isinstance(records, PutRecords) else list(records))
        with self._task.calling("put") as java:
            java.put(java_records)

    def flush(self, current_offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        with self._task.calling("flush") as java:
            java.flush(java_offsets(current_offsets))

    def pre_commit(
        self, current_offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> Mapping[TopicPartition, OffsetAndMetadata]:
        with self._task.calling("preCommit") as java:
            # Java's own calls flush, unless the plugin overrides it.
            return python_offsets(java.preCommit(java_offsets(current_offsets)))

    def stop(self) -> None:
        with self._task.calling("stop") as java:
            java.stop()


def sink_task_class(jars: Sequence[Path], name: str) -> type[SinkTask]:
    """Return the class of the tasks whose work a Java class does. Starts no JVM."""
    attributes = {"jars": tuple(jars), "class_name": name, "__module__": __name__, "__doc__": f"Java: `{name}`."}
    return type(name.rpartition(".")[2], (JavaSinkTask,), attributes)
