# SPDX-License-Identifier: Apache-2.0
"""Sink connectors and their tasks: from Kafka into an outside system.

A minimal task::

    class TableSinkTask(SinkTask):
        def version(self):
            return "1.0"

        def start(self, props):
            self._table = connect(props["url"])

        def put(self, records):
            self._table.insert([record.value for record in records])

        def flush(self, current_offsets):
            self._table.commit()

        def stop(self):
            self._table.close()
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.api.connector import Connector, ConnectorContext, Task
from headrace.api.frames import FrameJob, Frames
from headrace.api.plugin_metrics import PluginMetrics
from headrace.api.record import SinkRecord

if TYPE_CHECKING:
    import pyarrow as pa


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class OffsetAndMetadata:
    """A consumer position: `offset` is the offset of the next record to consume."""

    offset: int
    metadata: str = ""
    leader_epoch: int | None = None


class SinkConnectorContext(ConnectorContext):
    """The runtime as a sink connector sees it; adds nothing to `ConnectorContext`."""


@dataclass(frozen=True, slots=True)
class NewOffset:
    """The offset of a partition after an operator's change.

    ``asked`` is True if the operator gave this offset; False if it was deleted, and the consumer group starts here.
    """

    offset: int
    asked: bool


@dataclass(frozen=True, slots=True)
class OffsetJobs:
    """The jobs to run for new offsets, ``before`` and ``after`` those of the consumer group are written."""

    before: FrameJob
    after: FrameJob


@dataclass(frozen=True, slots=True)
class TargetCheck:
    """A look at a sink's target that needs Spark: ``notes`` says what the result of ``job``, which only reads, means.

    ``subject`` is what is not known if the job fails: "the columns are not compared". Not in Java.
    """

    subject: str
    job: FrameJob
    notes: Callable[[pa.Table], Iterable[str]]


@dataclass(frozen=True, slots=True)
class DryRun:
    """The rows that a sink would write: JSON-like values, texts, bytes, or Structs. Not in Java.

    ``schema`` is a text for people, with the columns or types of the target. ``notes`` say what differs from a write.
    ``checks`` are run by a preview, which adds their notes.
    """

    rows: Sequence[Any]
    schema: str | None = None
    notes: Sequence[str] = ()
    checks: Sequence[TargetCheck] = ()


class SinkConnector(Connector):
    """Base of all sink connectors (Java: `SinkConnector`). The worker handles `topics` and `topics.regex`."""

    context: SinkConnectorContext

    def alter_offsets(self, connector_config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Check consumer offsets that an operator wants to write, or write them to an outside store (KIP-875).

        The contract is that of `SourceConnector.alter_offsets`; an offset of None resets the partition.
        """
        return False

    def frame_alter_offsets(
        self, connector_config: Mapping[str, str], offsets: Mapping[TopicPartition, NewOffset]
    ) -> OffsetJobs | None:
        """Return the Spark jobs that apply an operator's offsets to a store outside Kafka; None if there are none.

        Called on the same instance after `alter_offsets`. The jobs' functions run in the worker, without input. If the
        first one raises, nothing has changed. If the second one raises, the consumer group's offsets are written
        already, and the operator is asked to repeat the change; so both must be idempotent. Not in Java.
        """
        return None

    def dry_run(self, connector_config: Mapping[str, str], records: Sequence[SinkRecord]) -> DryRun | None:
        """Return what the tasks' `put` would write for these records, and write nothing; None, the default, if unknown.

        Called for previews, on an instance that is not started, in a process of its own without Spark. It must not
        change anything anywhere. An error is shown to the user. Not in Java.
        """
        return None


class ErrantRecordReporter(ABC):
    """A reporter for records that a sink task could not handle, so that the task can continue (KIP-610)."""

    @abstractmethod
    def report(self, record: SinkRecord, error: BaseException) -> Future[None]:
        """Log the record and send it to the dead letter queue, as configured.

        The future is done when the report is written. The task need not wait for it: the runtime does, before it
        commits offsets of the record's partition. Raise ConnectError if `errors.tolerance` allows no errors.
        """


@dataclass(frozen=True, slots=True)
class ConsumerGroupMetadata:
    """A task's membership in its consumer group (Java: `ConsumerGroupMetadata`).

    ``generation_id`` is -1, and ``member_id`` empty, outside of a generation; ``group_instance_id`` is that of a static
    member.
    """

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None


class SinkTaskContext(ABC):
    """The runtime as a sink task sees it. For the task's thread only, except `request_commit`."""

    @abstractmethod
    def configs(self) -> Mapping[str, str]:
        """Return the task's latest configuration, with references to config providers resolved."""

    @abstractmethod
    def offsets(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Seek: start the next batch at these offsets. In `open` or `put`; for sinks that store offsets themselves."""

    def offset(self, partition: TopicPartition, offset: int) -> None:
        """Seek in one partition, as `offsets` does."""
        self.offsets({partition: offset})

    @abstractmethod
    def timeout_ms(self, timeout_ms: int) -> None:
        """Set the wait in ms before the retry, when `put` is about to raise RetriableError."""

    @abstractmethod
    def assignment(self) -> Collection[TopicPartition]:
        """Return the partitions that are assigned to the task now."""

    @abstractmethod
    def pause(self, *partitions: TopicPartition) -> None:
        """Stop the delivery of these partitions until `resume`. Raise ConnectError for partitions of other tasks."""

    @abstractmethod
    def resume(self, *partitions: TopicPartition) -> None:
        """Resume the delivery of these partitions."""

    @abstractmethod
    def request_commit(self) -> None:
        """Request a commit of offsets as soon as possible, before `offset.flush.interval.ms` is over. Any thread."""

    @abstractmethod
    def topic_id(self, topic: str) -> str:
        """Return the brokers' id of a topic, which changes when the topic is deleted and created again (KIP-516).

        For sinks that store offsets themselves; in `open` or `put`, since it asks the brokers. Empty if the brokers are
        too old for topic ids. Raise RetriableError if they do not answer or there is no such topic. Not in Java.
        """

    @abstractmethod
    def committed(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return the offsets that the consumer group has committed, of those partitions that have one.

        For sinks that commit offsets themselves, in Kafka transactions of their own. It asks the brokers, which wait
        for open transactions. Raise RetriableError if they do not answer. Java's sinks ask the task's consumer.
        """

    @abstractmethod
    def consumer_group_metadata(self) -> ConsumerGroupMetadata:
        """Return the task's membership in its consumer group, by which brokers refuse the offsets of a former member.

        For sinks that commit offsets themselves. Java's sinks ask the task's consumer.
        """

    @property
    @abstractmethod
    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        """Return the reporter; None if neither a log nor a dead letter queue is configured."""

    @property
    @abstractmethod
    def frames(self) -> Frames:
        """The runner of frame jobs, for the task's thread."""

    @abstractmethod
    def plugin_metrics(self) -> PluginMetrics:
        """Return the registry of the task's own metrics (KIP-877)."""


class SinkTask(Task):
    """A task that writes to an outside system (Java: `SinkTask`).

    The instance lives in its own process on a Spark executor. Its methods are called on that process's task thread, one
    at a time: `initialize`, `start`, `open` with the first partitions, then `put` again and again with `pre_commit` in
    between; at a rebalance `pre_commit` and `close` for the revoked partitions, then `open` for new ones; at the end
    `pre_commit`, `close`, `stop`. Delivery is at least once: offsets are committed only after `put` returned
    (invariant 9), so after a crash the records since the last commit are put again.
    """

    context: SinkTaskContext

    def initialize(self, context: SinkTaskContext) -> None:
        """Keep the context. Called once, before `start`; an override must call this."""
        self.context = context

    @abstractmethod
    def start(self, props: Mapping[str, str]) -> None:
        """Open connections and other resources. May block; an error makes the task FAILED."""

    def open(self, partitions: Collection[TopicPartition]) -> None:
        """Take over these partitions. Called before any of their records is put; may seek."""

    def close(self, partitions: Collection[TopicPartition]) -> None:
        """Give up these partitions, and release all that belongs to them."""

    @abstractmethod
    def put(self, records: Collection[SinkRecord]) -> None:
        """Write a batch of records, which may be empty.

        Records may be buffered until `flush`. After a RetriableError the same batch is put again, when `timeout_ms` has
        passed. Any other error makes the task FAILED. Return within `max.poll.interval.ms`.
        """

    def flush(self, current_offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Write out everything that was put so far. Called by `pre_commit` unless that is overridden."""

    def pre_commit(
        self, current_offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> Mapping[TopicPartition, OffsetAndMetadata]:
        """Return the offsets that are safe to commit; by default `flush`, then those of all records that were put.

        Called every `offset.flush.interval.ms` and before partitions are given up. Partitions missing in the result are
        not committed. After an error the task is rewound to the last committed offsets.
        """
        self.flush(current_offsets)
        return current_offsets

    @abstractmethod
    def stop(self) -> None:
        """Release all resources. Called once, on the task's thread, after the last `put` and `close`."""


class ColumnarSinkTask(SinkTask):
    """A sink task that also takes batches as Arrow tables, which need no Python object per record. Not in Java.

    Where transformations or converters need records anyway, `put` is called with them instead: each batch comes one way
    or the other, never both. The contract of `put` holds for `put_table` too.
    """

    def columns(self) -> Collection[str]:
        """Return the columns of those below that `put_table` needs; fewer are faster. Called once, after `start`.

        ===========  ===================================================================
        `value`      the record's value, as the converter gives it; null is a tombstone
        `key`        the record's key, as the converter gives it
        `topic`      text
        `partition`  int32
        `offset`     int64
        `timestamp`  int64, ms since the epoch; null for none
        ===========  ===================================================================
        """
        return ("value", "key", "topic", "partition", "offset", "timestamp")

    @abstractmethod
    def put_table(self, table: pa.Table) -> None:
        """Write a batch of at least one record; the records of each partition are in order."""
