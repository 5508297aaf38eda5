# SPDX-License-Identifier: Apache-2.0
"""The ends of transactions. Pure: decisions over record counts and times; KIP-618, ``transaction.boundary``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from headrace.api.errors import ConfigError, ConnectError
from headrace.api.record import SourceRecord
from headrace.api.source import TransactionBoundary, TransactionContext

TRANSACTION_TIMEOUT: Final = "transaction.timeout.ms"
_BROKERS_LONGEST_TRANSACTION: Final = 900.0
"""Seconds; the default of the brokers' ``transaction.max.timeout.ms``."""
_SPARE_TIME: Final = 60.0


class End(Enum):
    """The act on the open transaction that follows some records."""

    NOTHING = "nothing"
    COMMIT = "commit"
    ABORT = "abort"


@dataclass(frozen=True, slots=True)
class Step:
    """Records up to ``end`` (exclusive, counted in the batch) join the open transaction; ``then`` is what ends it."""

    end: int
    then: End


class Boundary(Protocol):
    """Decides after every poll where transactions end."""

    def plan(self, size: int, records: Sequence[SourceRecord] | None, now: float) -> tuple[Step, ...]:
        """Return the steps for a batch. ``records`` is None for an Arrow table; ``size`` is 0 for an empty batch."""

    def final(self) -> End:
        """Return what to do with an open transaction when the task stops or pauses."""


class PollBoundary:
    """One transaction per batch."""

    def plan(self, size: int, records: Sequence[SourceRecord] | None, now: float) -> tuple[Step, ...]:
        return (Step(size, End.COMMIT),) if size else ()

    def final(self) -> End:
        return End.COMMIT


class IntervalBoundary:
    """A transaction ends with the first poll that returns ``interval`` seconds after the last one ended."""

    def __init__(self, interval: float, now: float) -> None:
        self.interval = interval
        self._last = now

    def plan(self, size: int, records: Sequence[SourceRecord] | None, now: float) -> tuple[Step, ...]:
        if now - self._last >= self.interval:
            self._last = now
            return (Step(size, End.COMMIT),)
        return (Step(size, End.NOTHING),) if size else ()

    def final(self) -> End:
        return End.COMMIT


class ConnectorBoundary:
    """The task ends its transactions through its context."""

    def __init__(self, context: WorkerTransactionContext) -> None:
        self._context = context

    def plan(self, size: int, records: Sequence[SourceRecord] | None, now: float) -> tuple[Step, ...]:
        at_records, at_batch = self._context.take()
        steps = []
        if at_records:
            if records is None:
                raise ConnectError("a transaction cannot end at a record of an Arrow table: end it with the batch")
            steps = [
                Step(index + 1, at_records[id(record)])
                for index, record in enumerate(records)
                if id(record) in at_records
            ]
            if size and not at_records.keys() <= {id(record) for record in records}:
                raise ConnectError("a transaction is to end at a record that is not in the batch that poll returned")
        if at_batch is not End.NOTHING or not steps or steps[-1].end < size:
            steps.append(Step(size, at_batch))
        return tuple(steps) if size or at_batch is not End.NOTHING else ()

    def final(self) -> End:
        """Return what the task asked for; what it has not ended is aborted, and read again by the next attempt."""
        return self._context.take()[1]


class WorkerTransactionContext(TransactionContext):
    """Collects what the task asks for during one poll. Task's thread only."""

    def __init__(self) -> None:
        self._at_records: dict[int, End] = {}
        self._kept: list[SourceRecord] = []
        self._at_batch = End.NOTHING

    def commit_transaction(self, record: SourceRecord | None = None) -> None:
        self._request(record, End.COMMIT)

    def abort_transaction(self, record: SourceRecord | None = None) -> None:
        self._request(record, End.ABORT)

    def take(self) -> tuple[Mapping[int, End], End]:
        """Return what was asked for since the last call: by the identity of records, and for the whole batch."""
        taken = self._at_records, self._at_batch
        self._at_records, self._kept, self._at_batch = {}, [], End.NOTHING
        return taken

    def _request(self, record: SourceRecord | None, end: End) -> None:
        other = End.ABORT if end is End.COMMIT else End.COMMIT
        requested = self._at_batch if record is None else self._at_records.get(id(record), End.NOTHING)
        if requested is other:
            raise ConnectError(f"the task asks for {end.value} where it has already asked for {other.value}")
        if record is None:
            self._at_batch = end
        else:
            self._at_records[id(record)] = end
            # Keeps the record alive, so that no other one gets its id.
            self._kept.append(record)


def create_boundary(
    config: Mapping[str, str], flush_interval: float, clock: Callable[[], float], context: WorkerTransactionContext
) -> Boundary:
    """Return the boundary that a connector's configuration asks for; intervals default to ``flush_interval``."""
    name = config.get("transaction.boundary", "poll")
    try:
        kind = TransactionBoundary.from_property(name)
    except ValueError as error:
        raise ConfigError.invalid("transaction.boundary", name, "must be poll, interval or connector") from error
    if kind is TransactionBoundary.CONNECTOR:
        return ConnectorBoundary(context)
    if kind is TransactionBoundary.INTERVAL:
        interval = config.get("transaction.boundary.interval.ms")
        return IntervalBoundary(int(interval) / 1000 if interval else flush_interval, clock())
    return PollBoundary()


def transaction_timeout(producer: Mapping[str, str], boundary: Boundary, retry_timeout: float | None) -> float:
    """Return the producer's ``transaction.timeout.ms`` in seconds: what ``producer`` says, or what ``boundary`` needs.

    The broker aborts older transactions and fences their producer, so an interval has to fit in. So have, as far as
    brokers allow by default, the retries of a record: others of its transaction may be written.
    """
    interval = boundary.interval if isinstance(boundary, IntervalBoundary) else 0.0
    given = producer.get(TRANSACTION_TIMEOUT)
    if given is None:
        least = interval + _SPARE_TIME
        if isinstance(boundary, PollBoundary):
            return least
        longest = max(least, _BROKERS_LONGEST_TRANSACTION)
        return longest if retry_timeout is None else min(least + retry_timeout, longest)
    timeout = int(given) / 1000
    if timeout <= interval:
        reason = f"transactions last transaction.boundary.interval.ms = {interval * 1000:g}, so it has to be larger"
        raise ConfigError.invalid(f"producer.override.{TRANSACTION_TIMEOUT}", given, reason)
    return timeout
