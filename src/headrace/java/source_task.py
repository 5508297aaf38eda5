# SPDX-License-Identifier: Apache-2.0
"""Java source tasks as tasks of headrace."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from headrace.api.errors import ConnectError, RetriableError
from headrace.api.record import SourceRecord
from headrace.api.source import RecordMetadata, SourceTask, SourceTaskContext
from headrace.java.data import java_map
from headrace.java.jvm import java_class
from headrace.java.partitions import java_partition
from headrace.java.polled_records import PolledRecord, polled_records
from headrace.java.task_calls import JavaTask
from headrace.java.task_contexts import source_task_context
from headrace.java.transactions import JavaTransactions

log = logging.getLogger(__name__)
_BASE: Final = "org.apache.kafka.connect.source.SourceTask"
_METADATA: Final = "org.apache.kafka.clients.producer.RecordMetadata"
_UNKNOWN: Final = -1
"""Java's number for a timestamp or a size that is not known."""


class JavaSourceTask(SourceTask):
    """A task whose work a Java object does; ``source_task_class`` makes a class for each Java class.

    The JVM starts with the constructor: to know the class takes none.
    """

    jars: ClassVar[tuple[Path, ...]]
    class_name: ClassVar[str]

    def __init__(self) -> None:
        self._task = JavaTask(self.jars, self.class_name)
        self._transactions: JavaTransactions | None = None
        self._stopping = False
        self._hears_commits = self._task.overrides("commit", _BASE)
        if self._task.overrides("commitRecord", _BASE):
            # The runtime calls it only where it is overridden, which is known now.
            self.commit_record = self._commit_record  # type: ignore[method-assign]

    def version(self) -> str:
        with self._task.calling("version") as java:
            return str(java.version())

    def initialize(self, context: SourceTaskContext) -> None:
        super().initialize(context)
        if context.transaction_context is not None:
            self._transactions = JavaTransactions(context.transaction_context)
        with self._task.calling("initialize") as java:
            java.initialize(source_task_context(context, self._transactions))

    def start(self, props: Mapping[str, str]) -> None:
        with self._task.calling("start") as java:
            java.start(java_map(props))

    def poll(self) -> list[SourceRecord] | None:
        try:
            with self._task.calling("poll", clients_too=True) as java:
                polled = java.poll()
        except RetriableError:
            raise
        except ConnectError as error:
            if not self._stopping:
                raise
            # Its stop, on another thread, has closed or interrupted what it waits for.
            log.info("An error of poll after stop is ignored, as in Kafka Connect: %s", error)
            return None
        if polled is None:
            return None
        java_records = list(polled.toArray())
        records = polled_records(java_records)
        if self._transactions is not None:
            self._transactions.pass_on(java_records, records)
        return records

    def commit(self) -> None:
        if self._hears_commits:
            with self._task.calling("commit") as java:
                java.commit()

    def stop(self) -> None:
        self._stopping = True
        with self._task.calling("stop") as java:
            java.stop()

    def _commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        assert isinstance(record, PolledRecord)
        with self._task.calling("commitRecord") as java:
            java.commitRecord(record.java, None if metadata is None else _java_metadata(metadata))


def source_task_class(jars: Sequence[Path], name: str) -> type[SourceTask]:
    """Return the class of the tasks whose work a Java class does. Starts no JVM."""
    attributes = {"jars": tuple(jars), "class_name": name, "__module__": __name__, "__doc__": f"Java: `{name}`."}
    return type(name.rpartition(".")[2], (JavaSourceTask,), attributes)


def _java_metadata(metadata: RecordMetadata) -> Any:
    where = java_partition(metadata.topic, metadata.partition)
    timestamp = _UNKNOWN if metadata.timestamp is None else metadata.timestamp
    return java_class(_METADATA)(where, metadata.offset, 0, timestamp, _UNKNOWN, _UNKNOWN)
