# SPDX-License-Identifier: Apache-2.0
"""Java source tasks as tasks of headrace."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Final

from headrace.api.errors import ConnectError, RetriableError
from headrace.api.record import SourceRecord
from headrace.api.source import RecordMetadata, SourceTask, SourceTaskContext, WrittenRecords
from headrace.java.committed_records import CommittedRecords, java_metadata
from headrace.java.data import java_map
from headrace.java.polled_records import PolledRecord, PolledRecords
from headrace.java.task_calls import JavaTask
from headrace.java.task_contexts import source_task_context
from headrace.java.transactions import JavaTransactions

log = logging.getLogger(__name__)
_BASE: Final = "org.apache.kafka.connect.source.SourceTask"
_POLL_AHEAD: Final = frozenset({"org.apache.kafka.connect.mirror.MirrorSourceTask"})
"""Classes whose ``commit`` and ``commitRecord`` concern only records that were passed to the latter."""
_LONGEST_LAST_POLL: Final = 2.0
"""Seconds for which ``stop`` waits for a poll, of which Java's connectors wait for data for a second at most."""
_WORTH_ONE_CALL: Final = 5
"""Records for which one call of Java with arrays takes less time than a call for each."""


class JavaSourceTask(SourceTask):
    """A task whose work a Java object does; ``source_task_class`` makes a class for each Java class.

    The JVM starts with the constructor: to know the class takes none. As in Java Connect the last ``commit`` precedes
    ``stop``: a task that acknowledges messages there may close its session here.
    """

    jars: ClassVar[tuple[Path, ...]]
    class_name: ClassVar[str]

    def __init__(self) -> None:
        self._task = JavaTask(self.jars, self.class_name)
        self._transactions: JavaTransactions | None = None
        self._stopping = self._polling = False
        self._may_stop = threading.Event()
        self._may_stop.set()
        self._hears_commits = self._task.overrides("commit", _BASE)
        if self._task.overrides("commitRecord", _BASE):
            self._committed_records = CommittedRecords(self._task.instance)
            # The runtime calls it only where it is overridden, which is known now.
            self.commit_record = self._commit_record  # type: ignore[method-assign]
            self.commit_records = self._commit_records  # type: ignore[method-assign]

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

    def poll(self) -> Sequence[SourceRecord] | None:
        self._polling = True
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
        finally:
            self._polling = False
        if polled is None:
            return None
        records = PolledRecords(polled)
        if self._transactions is not None:
            self._transactions.pass_on(records)
        return records

    def commit(self) -> None:
        if self._hears_commits:
            with self._task.calling("commit") as java:
                java.commit()

    @contextmanager
    def committing(self) -> Iterator[None]:
        """Within the context ``commit`` may be called, and ``stop`` waits for its end. For the task's thread."""
        self._may_stop.clear()
        try:
            yield
        finally:
            self._may_stop.set()

    def stop(self) -> None:
        """Stop the Java task after its last commit, or while a poll does not return: that may wait for this."""
        self._stopping = True
        while not self._may_stop.wait(_LONGEST_LAST_POLL) and not self._polling:
            pass
        with self._task.calling("stop") as java:
            java.stop()

    def _commit_records(self, written: WrittenRecords) -> None:
        with self._task.calling("commitRecord") as java:
            if isinstance(written.records, PolledRecords) and len(written.places) >= _WORTH_ONE_CALL:
                self._committed_records.commit(written.topic, written.records.java, written.places)
                return
            for record, metadata in written:
                java.commitRecord(record.java, java_metadata(metadata))  # type: ignore[attr-defined]

    def _commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        assert isinstance(record, PolledRecord)
        with self._task.calling("commitRecord") as java:
            java.commitRecord(record.java, None if metadata is None else java_metadata(metadata))


def source_task_class(jars: Sequence[Path], name: str) -> type[SourceTask]:
    """Return the class of the tasks whose work a Java class does. Starts no JVM."""
    attributes = {
        "jars": tuple(jars),
        "class_name": name,
        "polls_ahead": name in _POLL_AHEAD,
        "__module__": __name__,
        "__doc__": f"Java: `{name}`.",
    }
    return type(name.rpartition(".")[2], (JavaSourceTask,), attributes)
