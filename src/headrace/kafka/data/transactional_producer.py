# SPDX-License-Identifier: Apache-2.0
"""A transactional producer whose states are one table, and which is closed after any uncertain outcome."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import Enum
from typing import Final

from confluent_kafka import Consumer, KafkaException
from confluent_kafka import TopicPartition as Position

from headrace.api.errors import ConnectError
from headrace.api.sink import TopicPartition
from headrace.kafka.data.client_statistics import ClientStatistics
from headrace.kafka.data.record_producer import RecordProducer
from headrace.kafka.errors import (
    AuthorizationError,
    IncompleteTransactionError,
    KafkaClientError,
    ProducerFencedError,
    UncertainCommitError,
    call_outside_handler,
    clear_tracebacks,
    connect_error,
)

log = logging.getLogger(__name__)
_ABORT_SECONDS: Final = 5.0


class ProducerState(Enum):
    """The states of a transactional producer."""

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
    """A transition that the table does not have: a defect of the caller."""


class TransactionalProducer:
    """The producer of one attempt. Used by one thread at a time.

    Every method may raise ProducerFencedError (another attempt owns the transactional id, invariant 2),
    UncertainCommitError (tainted; a new attempt has to find out what is committed, invariant 5),
    IncompleteTransactionError (tainted, and what was sent never becomes visible), or KafkaClientError
    (the records or the principal are at fault; a new attempt would fail again).
    """

    def __init__(
        self, props: Mapping[str, str], *, every_delivery: bool = False, statistics: ClientStatistics | None = None
    ) -> None:
        self.transactional_id = props["transactional.id"]
        self.records = RecordProducer(props, every_delivery=every_delivery, statistics=statistics)
        self._state = ProducerState.NEW
        self._history = [ProducerState.NEW]
        self._abort_on_close = False
        self._end_error: str | None = None
        self._acknowledged_before = 0

    @property
    def in_transaction(self) -> bool:
        return self._state is ProducerState.IN_TRANSACTION

    def init_transactions(self, timeout: float, topic: str | None = None) -> None:
        """Fence earlier producers of the transactional id, and abort the transaction that they left open.

        ``topic`` is any one that is there: with it the call takes less time, by up to half a second.
        """
        self._require(ProducerState.NEW)
        if topic is not None:
            self._call_client("connecting", lambda: self.records.connect(topic, timeout))
        self._call_client("init_transactions", lambda: self.records.client.init_transactions(timeout))
        self._move(ProducerState.READY)
        log.debug("Producer %s has fenced its predecessors", self.transactional_id)

    def begin(self) -> None:
        """Begin a transaction. A transport error at the end of the last one taints, though the end was answered.

        The lost request may still be on its way and would end the transaction that begins now (KAFKA-17754).
        """
        self._require(ProducerState.READY)
        if self._end_error is not None:
            self._move(ProducerState.TAINTED)
            raise UncertainCommitError(
                f"producer {self.transactional_id} lost its connection while it ended a transaction: {self._end_error}"
            )
        self._call_client("begin_transaction", self.records.client.begin_transaction)
        self._acknowledged_before = self.records.acknowledged
        self._move(ProducerState.IN_TRANSACTION)
        log.debug("Producer %s has begun a transaction", self.transactional_id)

    def send_offsets(self, consumer: Consumer, offsets: Mapping[TopicPartition, int], timeout: float) -> None:
        """Commit consumer offsets of the consumer's group with the transaction, all or nothing with its records.

        The consumer may have its partitions assigned by itself: what fences then is the transactional id alone.
        """
        self._require(ProducerState.IN_TRANSACTION)
        positions = [Position(where.topic, where.partition, offset) for where, offset in offsets.items()]
        metadata = consumer.consumer_group_metadata()
        self._call_client(
            "send_offsets_to_transaction",
            lambda: self.records.client.send_offsets_to_transaction(positions, metadata, timeout),
        )

    def commit(self, timeout: float, records: int | None = None) -> None:
        """Make all that was sent since ``begin`` visible at once (invariant 1); within ``timeout`` seconds.

        ``records`` is the number that the transaction must have, by the caller's own count. If another number is
        acknowledged, nothing is committed: a transaction without its offset record would be read again and again.
        """
        self._require(ProducerState.IN_TRANSACTION)
        self._flush(timeout)
        self._check_complete(records)
        self._end_transaction("commit_transaction", lambda: self.records.client.commit_transaction(timeout))
        log.debug(
            "Producer %s has committed a transaction of %d records, offset records included",
            *(self.transactional_id, self.records.acknowledged - self._acknowledged_before),
        )

    def abort(self, timeout: float) -> None:
        """Abort the transaction: nothing that was sent since ``begin`` ever becomes visible."""
        self._require(ProducerState.IN_TRANSACTION)
        # An abort that overtakes the transaction's first partitions on their way to the coordinator ends the producer.
        with suppress(ConnectError):
            self.records.flush(timeout)
        self._end_transaction("abort_transaction", lambda: self.records.client.abort_transaction(timeout))
        # The records that it purged were reported as failed.
        self.records.forget_failures()
        log.debug("Producer %s has aborted a transaction", self.transactional_id)

    def close(self) -> None:
        """Close the producer, and abort a transaction that will not be committed.

        Left open it would delay all readers of its topics, the offsets topic too, until ``transaction.timeout.ms``. If
        the brokers are at fault, it is left to the next attempt's init.
        """
        if self._state is ProducerState.CLOSED:
            return
        unwanted = self._abort_on_close or self.in_transaction
        self._move(ProducerState.CLOSED)
        if unwanted:
            try:
                call_outside_handler(lambda: self.records.client.abort_transaction(_ABORT_SECONDS))
            except (KafkaException, SystemError) as error:
                clear_tracebacks(error)
        self.records.close()

    def _flush(self, timeout: float) -> None:
        """Wait until all records are delivered, or raise: a transaction with a gap must not be committed."""
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
            final = self._classify(failure)
            # No commit was sent, and no new attempt will follow whose init would end the transaction.
            self._abort_on_close = not isinstance(final, (ProducerFencedError, UncertainCommitError))
            raise final from failure

    def _check_complete(self, records: int | None) -> None:
        acknowledged = self.records.acknowledged - self._acknowledged_before
        if records is None or records == acknowledged:
            return
        self._move(ProducerState.TAINTED)
        self._abort_on_close = True
        raise IncompleteTransactionError(
            f"the transaction of producer {self.transactional_id} is not committed: {records} records belong to it, "
            f"{acknowledged} were acknowledged"
        )

    def _end_transaction(self, what: str, call: Callable[[], object]) -> None:
        # Earlier transport errors say nothing: brokers close idle connections.
        self.records.take_transport_error()
        self._call_client(what, call)
        self._move(ProducerState.READY)
        self._end_error = self.records.take_transport_error()

    def _call_client(self, what: str, call: Callable[[], object]) -> None:
        doing = f"{what} of producer {self.transactional_id}"
        new = self._state is ProducerState.NEW
        try:
            call()
        except (KafkaException, SystemError) as error:
            clear_tracebacks(error)
            self._move(ProducerState.TAINTED)
            # Nothing was sent before init: a fatal error there is the configuration's or the principal's fault.
            if new:
                raise self._classify(connect_error(error, doing)) from error
            failure = self.records.failure(error, doing)
            if type(failure) is KafkaClientError:
                # No record is at fault here. A coordinator with a conflict in its own state, as when a commit meets
                # another producer's init, answers with an unspecific error (invariant 5).
                failure = UncertainCommitError(str(failure))
            raise self._classify(failure) from error

    def _classify(self, failure: ConnectError) -> ConnectError:
        if isinstance(failure, (ProducerFencedError, AuthorizationError)) or type(failure) is KafkaClientError:
            return failure
        return failure if isinstance(failure, UncertainCommitError) else UncertainCommitError(str(failure))

    def _require(self, state: ProducerState) -> None:
        if self._state is not state:
            raise self._illegal_transition(state)

    def _move(self, state: ProducerState) -> None:
        if state not in TRANSITIONS[self._state]:
            raise self._illegal_transition(state)
        self._state = state
        self._history = [*self._history[-7:], state]

    def _illegal_transition(self, state: ProducerState) -> IllegalProducerStateError:
        history = " → ".join(s.value for s in self._history)
        return IllegalProducerStateError(
            f"producer {self.transactional_id} cannot go from {self._state.value} to {state.value} (history: {history})"
        )
