# SPDX-License-Identifier: Apache-2.0
"""Source connectors and their tasks: from an outside system into Kafka."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from headrace.api.connector import Connector, ConnectorContext, Task
from headrace.api.frames import Frames
from headrace.api.record import SourceRecord

if TYPE_CHECKING:
    import pyarrow as pa


class TransactionBoundary(Enum):
    """Where the producer transactions of an exactly-once source task end: property `transaction.boundary`."""

    POLL = "poll"
    """One transaction per batch that `poll` returns. The default."""
    INTERVAL = "interval"
    """A transaction ends when `transaction.boundary.interval.ms` have passed since the last one ended."""
    CONNECTOR = "connector"
    """The task ends transactions through its `TransactionContext`."""

    DEFAULT = POLL

    @classmethod
    def from_property(cls, value: str) -> TransactionBoundary:
        """From a property's text, in any case. ValueError for other text."""
        return cls(value.strip().lower())

    def __str__(self) -> str:
        return self.value


class ExactlyOnceSupport(Enum):
    """A connector's answer to the question whether it can be exactly-once with a given configuration."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"


class ConnectorTransactionBoundaries(Enum):
    """A connector's answer to the question whether it can define its own transaction boundaries."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True)
class RecordMetadata:
    """Where a record ended up in Kafka. `timestamp` is in ms since the epoch, None where unknown."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None = None


class OffsetStorageReader(ABC):
    """Reads the committed source offsets of this connector. May block while offsets are read from Kafka.

    Partitions are compared by their serialised form, as `SourceRecord` defines them. ConnectError if the offsets
    cannot be read; a task that cannot know where to go on must fail.
    """

    @abstractmethod
    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        """The committed offset of one source partition, None if there is none."""

    @abstractmethod
    def offsets(self, partitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        """The committed offsets of many source partitions in one request, in the order asked for."""


class SourceConnectorContext(ConnectorContext):
    """What the runtime offers a source connector in addition."""

    @property
    @abstractmethod
    def offset_storage_reader(self) -> OffsetStorageReader:
        """Reader of this connector's committed offsets. May be used from any thread."""


class SourceConnector(Connector):
    """Base of all source connectors (Java: `SourceConnector`)."""

    context: SourceConnectorContext

    def exactly_once_support(self, props: Mapping[str, str]) -> ExactlyOnceSupport | None:
        """Whether the connector is exactly-once with this configuration (KIP-618).

        Called on an unstarted instance before a connector with `exactly.once.support=required` is accepted. SUPPORTED
        promises: offsets that `poll` hands over determine what is read next, and only the offsets that the runtime
        hands back decide where to go on. None (the default) says nothing, and `required` is then refused.
        """
        return None

    def can_define_transaction_boundaries(self, props: Mapping[str, str]) -> ConnectorTransactionBoundaries:
        """Whether `transaction.boundary=connector` may be used with this configuration. By default it may not."""
        return ConnectorTransactionBoundaries.UNSUPPORTED

    def alter_offsets(
        self, connector_config: Mapping[str, str], offsets: Iterable[tuple[dict[str, Any], dict[str, Any] | None]]
    ) -> bool:
        """Check offsets that an operator wants to write, or bring an outside store in line with them (KIP-875).

        Called on an unstarted instance while the connector is STOPPED. `offsets` are pairs of source partition and
        source offset; None as an offset resets the partition. Raise ConnectError to refuse: nothing is then written.
        Return True if the connector manages no offsets outside Kafka or has changed them; False (the default) makes
        the answer to the operator say that this could not be known. May be called again after a failure, also with
        partitions that no longer exist in the source, so that those can be reset.
        """
        return False


class TransactionContext(ABC):
    """Ends transactions at the task's bidding, with `transaction.boundary=connector` only.

    Called on the task's thread, in `poll`. Takes effect when the batch that `poll` returns is processed. A record that
    is given must be the very object in that batch. To commit and abort at the same record is an error.
    """

    @abstractmethod
    def commit_transaction(self, record: SourceRecord | None = None) -> None:
        """Commit after `record`, or after the last record of the batch when None."""

    @abstractmethod
    def abort_transaction(self, record: SourceRecord | None = None) -> None:
        """Abort after `record`, or after the last record of the batch when None.

        The records since the last boundary never become visible to read_committed consumers. Their offsets are
        committed all the same, so that they are not read again; a task that wants them read again raises instead
        (KIP-618).
        """


class SourceTaskContext(ABC):
    """What the runtime offers a source task."""

    @abstractmethod
    def configs(self) -> Mapping[str, str]:
        """The task's latest configuration, with config provider references resolved."""

    @property
    @abstractmethod
    def offset_storage_reader(self) -> OffsetStorageReader:
        """Reader of committed offsets. Use it in `start` to learn where to go on; it can be used at any time."""

    @property
    @abstractmethod
    def transaction_context(self) -> TransactionContext | None:
        """To end transactions with; None unless exactly-once is on and `transaction.boundary=connector`."""

    @property
    @abstractmethod
    def frames(self) -> Frames:
        """To run jobs on Spark DataFrames with, on the task's thread."""


class SourceTask(Task):
    """Reads from an outside system (Java: `SourceTask`).

    The instance lives in a process of its own on a Spark executor and is made there by a constructor without
    arguments. All its methods but `stop` are called on that process's task thread, one at a time, in the order
    `initialize`, `start`, then `poll` over and over. `stop` is called from another thread, so that it can unblock a
    `poll` that waits.

    The process can die at any time and the task then begins anew, in another process, from the last committed
    offsets. Whatever it keeps for itself is lost; only source offsets last.
    """

    context: SourceTaskContext

    def initialize(self, context: SourceTaskContext) -> None:
        """Keep the context. Called once, before `start`; an override must call this."""
        self.context = context

    @abstractmethod
    def start(self, props: Mapping[str, str]) -> None:
        """Open what is needed and find the place to go on at. May block; an error makes the task FAILED.

        With exactly-once on, older incarnations of this task can write no more when this is called, and the offsets
        that `context.offset_storage_reader` tells are final.
        """

    @abstractmethod
    def poll(self) -> list[SourceRecord] | pa.Table | None:
        """The next records; None or an empty batch if there are none.

        Called again and again as soon as the last batch has been handed to Kafka. When nothing is there it should wait
        for a while (a second is plenty), better on the thing itself than in a sleep, and return; it must not spin. It
        must return soon after `stop`, and returning often keeps a pause and a transaction boundary prompt.

        Either records, or one Arrow table with the columns that `headrace.api.arrow` documents, which costs no Python
        object per record. RetriableError: polled again after a backoff. Any other error makes the task FAILED.
        """

    def commit(self) -> None:
        """Offsets of everything that was polled so far, or a part of it, are now committed in Kafka.

        Called after each commit of offsets: after each transaction with exactly-once on, else every
        `offset.flush.interval.ms`. Meant for sources that keep a position themselves. An error is logged, no more.
        """

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        """A record has been written to Kafka, or was dropped by a transformation or error tolerance (no metadata).

        Called once per record in the order of `poll`, never for Arrow tables. With exactly-once on it is called after
        the transaction has been committed. `record` is the one that `poll` returned, before transformations. Override
        it only if needed: where it is not overridden the runtime spares the calls. An error makes the task FAILED.
        """

    @abstractmethod
    def stop(self) -> None:
        """Ask the task to end: make `poll` return soon. Called once, from another thread, also during `start`.

        It must not block and must not pull resources from under a running `poll`. Release them when `poll` or `start`
        notices; the process ends a little later in any case. `commit` can still be called after it.
        """
