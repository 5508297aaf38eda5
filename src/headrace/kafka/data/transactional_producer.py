# SPDX-License-Identifier: Apache-2.0
"""A transactional producer whose life is one table, and which is never used again after anything uncertain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import Enum
from typing import Final

from confluent_kafka import KafkaException

from headrace.api.errors import ConnectError
from headrace.kafka.data.record_producer import RecordProducer
from headrace.kafka.errors import (
    AuthorizationError,
    IncompleteTransactionError,
    KafkaClientError,
    ProducerFencedError,
    UncertainCommitError,
    apart,
    connect_error,
    forget_frames,
)

_ABORT_SECONDS: Final = 5.0


class ProducerState(Enum):
    """Where a transactional producer is."""

    NEW = "NEW"
    READY = "READY"
    IN_TRANSACTION = "IN_TRANSACTION"
    TAINTED = "TAINTED"
    CLOSED = "CLOSED"


# Invariant 4: nothing leads back to NEW, and only NEW leads over init_transactions to READY.
# Invariant 5: nothing leads out of TAINTED but CLOSED.
TRANSITIONS: Mapping[ProducerState, frozenset[ProducerState]] = {
    ProducerState.NEW: frozenset({ProducerState.READY, ProducerState.TAINTED, ProducerState.CLOSED}),
    ProducerState.READY: frozenset({ProducerState.IN_TRANSACTION, ProducerState.TAINTED, ProducerState.CLOSED}),
    ProducerState.IN_TRANSACTION: frozenset({ProducerState.READY, ProducerState.TAINTED, ProducerState.CLOSED}),
    ProducerState.TAINTED: frozenset({ProducerState.CLOSED}),
    ProducerState.CLOSED: frozenset(),
}


class IllegalProducerStateError(ConnectError):
    """A move that the table does not have: a defect of the caller."""


class TransactionalProducer:
    """One attempt's producer. Used by the task's thread only.

    Every method may raise ProducerFencedError (another attempt owns the transactional id, invariant 2),
    UncertainCommitError (tainted; a new attempt has to find out what is committed, invariant 5),
    IncompleteTransactionError (tainted, and what was sent never becomes visible), or KafkaClientError
    (the records or the principal are at fault; a new attempt would fail again).
    """

    def __init__(self, props: Mapping[str, str], *, every_delivery: bool = False) -> None:
        self.transactional_id = props["transactional.id"]
        self.records = RecordProducer(props, every_delivery=every_delivery)
        self._state = ProducerState.NEW
        self._history = [ProducerState.NEW]
        self._spoiled = False
        self._lost: str | None = None
        self._before = 0

    @property
    def in_transaction(self) -> bool:
        return self._state is ProducerState.IN_TRANSACTION

    def init_transactions(self, timeout: float) -> None:
        """Fence whoever used the transactional id before, and end what it left open."""
        self._require(ProducerState.NEW)
        self._do("connecting", lambda: self.records.connect(timeout))
        self._do("init_transactions", lambda: self.records.client.init_transactions(timeout))
        self._move(ProducerState.READY)

    def begin(self) -> None:
        """Begin a transaction. If the end of the last one met a transport error, that taints, though it was answered.

        The lost request may still be on its way and would end the transaction that begins now (KAFKA-17754).
        """
        self._require(ProducerState.READY)
        if self._lost is not None:
            self._move(ProducerState.TAINTED)
            raise UncertainCommitError(
                f"producer {self.transactional_id} lost its connection while it ended a transaction: {self._lost}"
            )
        self._do("begin_transaction", self.records.client.begin_transaction)
        self._before = self.records.acknowledged
        self._move(ProducerState.IN_TRANSACTION)

    def commit(self, timeout: float, records: int | None = None) -> None:
        """Make all that was sent since ``begin`` visible at once (invariant 1); within ``timeout`` seconds.

        ``records`` is how many the transaction has to have, by the caller's own count. With another number acknowledged
        nothing is committed: a transaction without its offset record would be read again and again.
        """
        self._require(ProducerState.IN_TRANSACTION)
        self._flush(timeout)
        self._check_complete(records)
        self._end("commit_transaction", lambda: self.records.client.commit_transaction(timeout))

    def abort(self, timeout: float) -> None:
        """Nothing that was sent since ``begin`` ever becomes visible."""
        self._require(ProducerState.IN_TRANSACTION)
        # An abort that overtakes the transaction's first partitions on their way to the coordinator ends the producer.
        with suppress(ConnectError):
            self.records.flush(timeout)
        self._end("abort_transaction", lambda: self.records.client.abort_transaction(timeout))
        # The records that it purged were told as failed.
        self.records.forget_failures()

    def close(self) -> None:
        """Abort a transaction that nobody will commit; where the brokers are at fault the next attempt's init does it.

        Left open it would hold up all readers of its topics, the offsets topic too, until ``transaction.timeout.ms``.
        """
        if self._state is ProducerState.CLOSED:
            return
        unwanted = self._spoiled or self.in_transaction
        self._move(ProducerState.CLOSED)
        if unwanted:
            try:
                apart(lambda: self.records.client.abort_transaction(_ABORT_SECONDS))
            except (KafkaException, SystemError) as error:
                forget_frames(error)
        self.records.close()

    def _flush(self, timeout: float) -> None:
        """All records delivered, or the reason why not: a transaction with a hole must not be committed."""
        delivered, failure = False, None
        try:
            delivered = self.records.flush(timeout)
        except ConnectError as error:
            failure = error
        failure = failure or self.records.delivery_failure()
        if failure is None and not delivered:
            failure = UncertainCommitError(f"producer {self.transactional_id} could not deliver in {timeout:g} s")
        if failure is not None:
            self._move(ProducerState.TAINTED)
            final = self._final(failure)
            # No commit was sent, and no new attempt will follow whose init would end the transaction.
            self._spoiled = not isinstance(final, (ProducerFencedError, UncertainCommitError))
            raise final from failure

    def _check_complete(self, records: int | None) -> None:
        acknowledged = self.records.acknowledged - self._before
        if records is None or records == acknowledged:
            return
        self._move(ProducerState.TAINTED)
        self._spoiled = True
        raise IncompleteTransactionError(
            f"the transaction of producer {self.transactional_id} is not committed: {records} records belong to it, "
            f"{acknowledged} were acknowledged"
        )

    def _end(self, what: str, call: Callable[[], object]) -> None:
        # What the connection met before says nothing: brokers close idle ones.
        self.records.take_transport_error()
        self._do(what, call)
        self._move(ProducerState.READY)
        self._lost = self.records.take_transport_error()

    def _do(self, what: str, call: Callable[[], object]) -> None:
        doing = f"{what} of producer {self.transactional_id}"
        new = self._state is ProducerState.NEW
        try:
            call()
        except (KafkaException, SystemError) as error:
            forget_frames(error)
            self._move(ProducerState.TAINTED)
            # Nothing was sent before init: what is fatal there is the configuration's or the principal's fault.
            if new:
                raise self._final(connect_error(error, doing)) from error
            failure = self.records.failure(error, doing)
            if type(failure) is KafkaClientError:
                # No record is at fault here. A coordinator that stumbles over its own state, as when a commit meets
                # another producer's init, says no more than that something went wrong (invariant 5).
                failure = UncertainCommitError(str(failure))
            raise self._final(failure) from error

    def _final(self, failure: ConnectError) -> ConnectError:
        if isinstance(failure, (ProducerFencedError, AuthorizationError)) or type(failure) is KafkaClientError:
            return failure
        return failure if isinstance(failure, UncertainCommitError) else UncertainCommitError(str(failure))

    def _require(self, state: ProducerState) -> None:
        if self._state is not state:
            raise self._illegal(state)

    def _move(self, state: ProducerState) -> None:
        if state not in TRANSITIONS[self._state]:
            raise self._illegal(state)
        self._state = state
        self._history = [*self._history[-7:], state]

    def _illegal(self, state: ProducerState) -> IllegalProducerStateError:
        history = " → ".join(s.value for s in self._history)
        return IllegalProducerStateError(
            f"producer {self.transactional_id} cannot go from {self._state.value} to {state.value} (history: {history})"
        )
