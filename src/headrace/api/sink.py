# SPDX-License-Identifier: Apache-2.0
"""Sink connectors and their tasks: from Kafka into an outside system."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from headrace.api.connector import Connector, ConnectorContext, Task
from headrace.api.frames import FrameJob, Frames
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
    """A consumer position: `offset` is that of the next record to consume."""

    offset: int
    metadata: str = ""
    leader_epoch: int | None = None


class SinkConnectorContext(ConnectorContext):
    """What the runtime offers a sink connector; nothing beyond `ConnectorContext`."""


@dataclass(frozen=True, slots=True)
class NewOffset:
    """Where a sink goes on after an operator's change of its offsets. ``asked``: whether it was named; else the offset
    was deleted, and this is where its group begins."""

    offset: int
    asked: bool


@dataclass(frozen=True, slots=True)
class OffsetJobs:
    """What Spark does about new offsets, ``before`` the consumer group's are written and ``after``."""

    before: FrameJob
    after: FrameJob


class SinkConnector(Connector):
    """Base of all sink connectors (Java: `SinkConnector`). The worker deals with `topics` and `topics.regex`."""

    context: SinkConnectorContext

    def alter_offsets(self, connector_config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Check consumer offsets that an operator wants to write, or bring an outside store in line (KIP-875).

        As `SourceConnector.alter_offsets`; None as an offset resets the partition.
        """
        return False

    def frame_alter_offsets(
        self, connector_config: Mapping[str, str], offsets: Mapping[TopicPartition, NewOffset]
    ) -> OffsetJobs | None:
        """Jobs by which Spark brings a store outside Kafka in line with an operator's offsets; None if there are none.

        Asked for on the same instance after `alter_offsets`. The jobs' functions run in the worker, without input.
        What the first one raises leaves everything as it was. After an error of the second one the group's offsets are
        written already; the operator is told to repeat the change, so both have to bear that. Not in Java.
        """
        return None


class ErrantRecordReporter(ABC):
    """Reports a record that a sink task could not handle, so that the task can go on without it (KIP-610)."""

    @abstractmethod
    def report(self, record: SinkRecord, error: BaseException) -> Future[None]:
        """Log the record and send it to the dead letter queue, as configured.

        The future is done when the report is safely written; the runtime waits for it before offsets of the record's
        partition are committed, the task need not. Raises ConnectError if `errors.tolerance` allows no errors.
        """


class SinkTaskContext(ABC):
    """What the runtime offers a sink task. To be used on the task's thread only, but for `request_commit`."""

    @abstractmethod
    def configs(self) -> Mapping[str, str]:
        """The task's latest configuration, with config provider references resolved."""

    @abstractmethod
    def offsets(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Seek: the next batch begins at these offsets. In `open` or `put`; for sinks that keep offsets themselves."""

    def offset(self, partition: TopicPartition, offset: int) -> None:
        """Seek in one partition."""
        self.offsets({partition: offset})

    @abstractmethod
    def timeout_ms(self, timeout_ms: int) -> None:
        """After the RetriableError that `put` is about to raise, wait this many milliseconds before the next try."""

    @abstractmethod
    def assignment(self) -> Collection[TopicPartition]:
        """The partitions now assigned to the task."""

    @abstractmethod
    def pause(self, *partitions: TopicPartition) -> None:
        """Deliver no more records of these partitions until `resume`. Unknown ones are an error."""

    @abstractmethod
    def resume(self, *partitions: TopicPartition) -> None:
        """Deliver records of these partitions again."""

    @abstractmethod
    def request_commit(self) -> None:
        """Ask for a commit of offsets as soon as possible instead of at the next `offset.flush.interval.ms`."""

    @abstractmethod
    def topic_id(self, topic: str) -> str:
        """The id that the brokers gave a topic; one that is deleted and made anew by the same name has another one.

        Asks the brokers, within `open` or `put`. Empty if they are too old to know of ids (KIP-516). RetriableError
        while they do not answer, or there is no such topic. For sinks that keep offsets themselves. Not in Java.
        """

    @property
    @abstractmethod
    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        """The reporter; None if neither a log nor a dead letter queue is configured."""

    @property
    @abstractmethod
    def frames(self) -> Frames:
        """To run jobs on Spark DataFrames with, on the task's thread."""


class SinkTask(Task):
    """Writes to an outside system (Java: `SinkTask`).

    The instance lives in a process of its own on a Spark executor. All methods but `stop` are called on that process's
    task thread, one at a time: `initialize`, `start`, `open` with the first partitions, then `put` over and over with
    `pre_commit` between; at a rebalance `pre_commit` and `close` for the partitions that go, `open` for those that
    come; at the end `pre_commit`, `close`, `stop`. Delivery is at least once: offsets are committed only after `put`
    returned, so a task that dies gets the records since the last commit again.
    """

    context: SinkTaskContext

    def initialize(self, context: SinkTaskContext) -> None:
        """Keep the context. Called once, before `start`; an override must call this."""
        self.context = context

    @abstractmethod
    def start(self, props: Mapping[str, str]) -> None:
        """Open what is needed. May block; an error makes the task FAILED."""

    def open(self, partitions: Collection[TopicPartition]) -> None:
        """These partitions are now the task's. Called before any of their records is put. May seek."""

    def close(self, partitions: Collection[TopicPartition]) -> None:
        """These partitions are the task's no more. What belongs to them must be released here."""

    @abstractmethod
    def put(self, records: Collection[SinkRecord]) -> None:
        """Take a batch of records, which may be empty.

        They may be buffered until `flush`. RetriableError: the same batch is put again after `timeout_ms`. Any other
        error makes the task FAILED. It should return within `max.poll.interval.ms`.
        """

    def flush(self, current_offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Write out everything put so far. Called by `pre_commit` unless that is overridden."""

    def pre_commit(
        self, current_offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> Mapping[TopicPartition, OffsetAndMetadata]:
        """The offsets that are safe to commit now: by default all that were put, after a `flush`.

        Called every `offset.flush.interval.ms` and before partitions are given up. Partitions left out are not
        committed. An error rewinds the task to the last committed offsets.
        """
        self.flush(current_offsets)
        return current_offsets

    @abstractmethod
    def stop(self) -> None:
        """Release everything. Called once, on the task's thread, after the last `put` and `close`."""


class ColumnarSinkTask(SinkTask):
    """A sink task that also takes batches as Arrow tables, which cost no Python object per record.

    Where records have to be made anyway, for transformations or converters without a columnar path, `put` is called
    with them instead: a batch comes either way, never both. All that is said of `put` holds for `put_table` too.
    """

    def columns(self) -> Collection[str]:
        """The columns that `put_table` wants, of those below; asked once, after `start`. The fewer, the quicker.

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
        """Take a batch of at least one record, in the order of each partition."""
