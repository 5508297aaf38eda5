# SPDX-License-Identifier: Apache-2.0
"""Source connectors and their tasks: from an outside system into Kafka.

A minimal task, which continues after its last committed offset::

    class CounterTask(SourceTask):
        def version(self):
            return "1.0"

        def start(self, props):
            self._topic = props["topic"]
            committed = self.context.offset_storage_reader.offset({"counter": "main"})
            self._next = committed["next"] if committed else 0

        def poll(self):
            value, self._next = self._next, self._next + 1
            record = SourceRecord({"counter": "main"}, {"next": self._next}, self._topic, value=value)
            return [record]

        def stop(self):
            pass
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from headrace.api.connector import Connector, ConnectorContext, Task
from headrace.api.frames import Frames
from headrace.api.lag import Lag
from headrace.api.plugin_metrics import PluginMetrics
from headrace.api.record import SourceRecord

if TYPE_CHECKING:
    import pyarrow as pa


class TransactionBoundary(Enum):
    """The boundaries of an exactly-once source task's transactions: the property `transaction.boundary`."""

    POLL = "poll"
    """One transaction per batch that `poll` returns. The default."""
    INTERVAL = "interval"
    """One transaction per `transaction.boundary.interval.ms`."""
    CONNECTOR = "connector"
    """The task ends transactions through its `TransactionContext`."""

    DEFAULT = POLL

    @classmethod
    def from_property(cls, value: str) -> TransactionBoundary:
        """Parse a property's text, in any case. Raise ValueError for other text."""
        return cls(value.strip().lower())

    def __str__(self) -> str:
        return self.value


class ExactlyOnceSupport(Enum):
    """The answer of `SourceConnector.exactly_once_support`."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"


class ConnectorTransactionBoundaries(Enum):
    """The answer of `SourceConnector.can_define_transaction_boundaries`."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True)
class RecordMetadata:
    """The coordinates of a written record in Kafka.

    `timestamp` is in ms since the epoch, None if unknown. `offset` is -1 if unknown, which is rare, as in Java.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int | None = None


@dataclass(frozen=True, slots=True)
class WrittenRecords:
    """Records of one topic that are in Kafka: for each its index in `records`, its partition, offset and timestamp."""

    topic: str
    records: Sequence[SourceRecord]
    places: Sequence[tuple[int, int, int, int | None]]

    def __iter__(self) -> Iterator[tuple[SourceRecord, RecordMetadata]]:
        """Iterate over records and their coordinates."""
        for row, partition, offset, timestamp in self.places:
            yield self.records[row], RecordMetadata(self.topic, partition, offset, timestamp)


class CommittedRecord(NamedTuple):
    """A committed record of a topic, as the bytes that converters have made. Not in Java.

    `value` is None for a tombstone. `headers` are names with bytes, in order.
    """

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class OffsetStorageReader(ABC):
    """A reader of the connector's committed source offsets. May block while offsets are read from Kafka.

    Source partitions are compared by their serialised form, as `SourceRecord` defines them. Methods raise ConnectError
    if the offsets cannot be read; let it fail the task, which does not know its position then.
    """

    @abstractmethod
    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the committed offset of one source partition; None if there is none."""

    @abstractmethod
    def offsets(self, partitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        """Return the committed offsets of many source partitions in one request, in the order of `partitions`."""


class SourceConnectorContext(ConnectorContext):
    """The runtime as a source connector sees it."""

    @property
    @abstractmethod
    def offset_storage_reader(self) -> OffsetStorageReader:
        """The reader of this connector's committed offsets, for any thread."""


class SourceConnector(Connector):
    """Base of all source connectors (Java: `SourceConnector`)."""

    context: SourceConnectorContext

    def exactly_once_support(self, props: Mapping[str, str]) -> ExactlyOnceSupport | None:
        """Return whether the connector is exactly-once with this configuration (KIP-618); by default None: unknown.

        Called on an instance that is not started, before a connector with `exactly.once.support=required` is accepted;
        only SUPPORTED is. SUPPORTED promises that the offsets in the records of `poll` determine the records that
        follow, and that a task continues only from the offsets that the runtime returns to it.
        """
        return None

    def can_define_transaction_boundaries(self, props: Mapping[str, str]) -> ConnectorTransactionBoundaries:
        """Return whether this configuration allows `transaction.boundary=connector`; by default UNSUPPORTED."""
        return ConnectorTransactionBoundaries.UNSUPPORTED

    def alter_offsets(
        self, connector_config: Mapping[str, str], offsets: Iterable[tuple[dict[str, Any], dict[str, Any] | None]]
    ) -> bool:
        """Check source offsets that an operator wants to write, or write them to an outside store (KIP-875).

        Called on an instance that is not started, while the connector is STOPPED. It may be called again after a
        failure, and must accept resets of partitions that no longer exist in the source.

        Args:
            connector_config: the connector's configuration.
            offsets: pairs of source partition and source offset; an offset of None resets the partition.

        Returns:
            True if the connector stores no offsets outside Kafka, or has changed them. With False, the default, the
            answer to the operator says that the effect on the connector is unknown.

        Raises:
            ConnectError: the offsets are refused; nothing is written.
        """
        return False


class TransactionContext(ABC):
    """The task's control of its transactions, with `transaction.boundary=connector` (Java: `TransactionContext`).

    For the task's thread, in `poll`. A call takes effect when the batch that `poll` returns is processed. Records are
    compared by identity: pass the object that is in the batch. To commit and abort at the same record is an error.
    """

    @abstractmethod
    def commit_transaction(self, record: SourceRecord | None = None) -> None:
        """Commit after `record`, or after the last record of the batch when None."""

    @abstractmethod
    def abort_transaction(self, record: SourceRecord | None = None) -> None:
        """Abort after `record`, or after the last record of the batch when None.

        The records since the last boundary never become visible to read_committed consumers. Their offsets are still
        committed, so that they are not read again; to read them again, raise an error instead (KIP-618).
        """


class SourceTaskContext(ABC):
    """The runtime as a source task sees it."""

    @abstractmethod
    def configs(self) -> Mapping[str, str]:
        """Return the task's latest configuration, with references to config providers resolved."""

    @property
    @abstractmethod
    def offset_storage_reader(self) -> OffsetStorageReader:
        """The reader of committed offsets. Use it in `start` to find the position; it can be used at any time."""

    @property
    @abstractmethod
    def transaction_context(self) -> TransactionContext | None:
        """The control of transactions; None unless exactly-once is enabled and `transaction.boundary=connector`."""

    @property
    @abstractmethod
    def frames(self) -> Frames:
        """The runner of frame jobs, for the task's thread."""

    @abstractmethod
    def plugin_metrics(self) -> PluginMetrics:
        """Return the registry of the task's own metrics (KIP-877)."""

    def read_topic(self, topic: str) -> Iterator[CommittedRecord]:
        """Yield the committed records of a topic that the task writes to, up to the end that it has now. Not in Java.

        For a task that has to know what it has written, in place of a memory of its own. Records of one partition come
        in their order; none come of a topic that does not exist. What is in an open transaction, the task's own too, is
        not among them. Call it in `start` or `poll`, on the task's thread, and leave the iteration when the task is to
        stop: a topic of a million records takes some ten seconds. Its consumer is configured as that of source offsets
        (`consumer.override.…`), and needs the right to read the topic. Raise RetriableError or ConnectError, and
        NotImplementedError in a context, as of a test, that has no topics.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot read topic {topic}")


class SourceTask(Task):
    """A task that reads from an outside system (Java: `SourceTask`).

    The instance lives in its own process on a Spark executor, and is made there by a constructor without arguments. All
    methods but `stop` and `wakeup` are called on that process's task thread, one at a time: `initialize`, `start`, then
    `poll` again and again. Those two are called from another thread, so that they can unblock a waiting `poll`.

    The process can die at any time; the task is then started in another process from the last committed offsets. State
    that is not in source offsets is lost.
    """

    polls_ahead: ClassVar[bool] = False
    """True if `poll` may be called while the transaction with what it returned last is still being committed.

    With exactly-once enabled and `transaction.boundary=poll` both then take place at the same time, unless the last
    poll took 100 ms or more. Only for a task that neither lets go of anything in its source when it is polled again,
    nor waits in `poll` for `commit` or `commit_record`, nor takes `commit` for that of all that `poll` has returned.
    Not in Java.
    """

    context: SourceTaskContext

    def initialize(self, context: SourceTaskContext) -> None:
        """Keep the context. Called once, before `start`; an override must call this."""
        self.context = context

    @abstractmethod
    def start(self, props: Mapping[str, str]) -> None:
        """Open connections and other resources, and seek to the committed offsets. An error makes the task FAILED.

        May block. With exactly-once enabled, former attempts of this task are fenced when this is called, so the
        offsets of `context.offset_storage_reader` are final.
        """

    @abstractmethod
    def poll(self) -> Sequence[SourceRecord] | pa.Table | None:
        """Return the next records; None or an empty batch if there are none.

        Called again as soon as the last batch has been handed to Kafka. Without data, wait up to about a second, on the
        source itself rather than in a sleep, and return; do not spin. Return soon after `stop`, and often, or else soon
        after `wakeup`, so that pauses and transaction boundaries are prompt.

        The batch is a list of records, or one Arrow table with the columns that `headrace.api.arrow` documents, which
        needs no Python object per record. After a RetriableError the runtime polls again, with backoff. Any other error
        makes the task FAILED.
        """

    def commit(self) -> None:
        """React to a commit: the offsets of all polled records, or of some of them, are now committed in Kafka.

        Called after each transaction with exactly-once enabled, else every `offset.flush.interval.ms`. For sources that
        keep a position themselves. An error is only logged.
        """

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        """React to a written record, or to one that a transformation or error tolerance dropped (`metadata` is None).

        Called once per record in the order of `poll`, never for Arrow tables; with exactly-once enabled after the
        commit of the transaction. `record` is the object that `poll` returned, before transformations. Override it only
        if needed: the runtime skips the calls otherwise. An error makes the task FAILED.
        """

    def commit_records(self, written: WrittenRecords) -> None:
        """React to written records of one topic: by default `commit_record` is called for each.

        Override it together with that one, where a call for each record takes too long.
        """
        for record, metadata in written:
            self.commit_record(record, metadata)

    def lag(self) -> Lag | None:
        """Return what the source has and `poll` has not returned yet; None, the default, if it is not known.

        Not in Java.

        Shown by the connector's health, which counts the task as stalled if the lag is above 0, does not shrink, and
        there are no records for `task.stalled.timeout.ms`. So count nothing that the task will not return, such as a
        line without its end.

        Called every few seconds at most, between two calls of `poll` and while the task is paused. It must not block:
        return what the task knows from its last `poll`, or can look up in a few milliseconds. An error is logged once,
        and counts as None.
        """
        return None

    def wakeup(self) -> None:
        """Make `poll` return soon, as the task is to be paused; later it is polled again. The default does nothing.

        Called from another thread, also during `start` and while no `poll` runs. An error is only logged. Not in Java.
        """

    @abstractmethod
    def stop(self) -> None:
        """Make `poll` return soon. Called once, from another thread, also during `start`.

        Do not block, and do not close resources that a running `poll` uses: release them when `poll` or `start` sees
        the request. The process ends shortly afterwards in any case. `commit` may still be called after `stop`.
        """
