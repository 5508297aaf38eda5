# SPDX-License-Identifier: Apache-2.0
"""Errors of Kafka operations above the clients; their types say whether to try again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException, Producer

from headrace.api.errors import ConnectError, RetriableError

T = TypeVar("T")

AUTHORIZATION_CODES = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)
UNREADABLE_CODES = frozenset(
    {KafkaError._BAD_MSG, KafkaError._BAD_COMPRESSION, KafkaError._UNSUPPORTED_FEATURE, KafkaError.INVALID_MSG}
)
"""Codes after which a consumer continues behind the records that it could not read."""
_TOO_LARGE_CODES = frozenset({KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE})
# Of one record, which brokers will never take as it is.
_REFUSED_CODES = _TOO_LARGE_CODES | {
    KafkaError.TOPIC_EXCEPTION,
    KafkaError.INVALID_TIMESTAMP,
    KafkaError.INVALID_RECORD,
    KafkaError.POLICY_VIOLATION,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
}
FENCED_CODES = frozenset(
    {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.FENCED_INSTANCE_ID}
)
# KAFKA-18019: a lost producer id mapping is never healed by trying again.
FATAL_CODES = frozenset({KafkaError.INVALID_PRODUCER_ID_MAPPING})
# The broker and the producer no longer agree about a transaction. Neither the records nor the principal are at fault.
_LOST_TRANSACTION_CODES = frozenset(
    {KafkaError.INVALID_TXN_STATE, KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, KafkaError.UNKNOWN_PRODUCER_ID}
)
# Codes that librdkafka does not mark retriable itself, though the same request can succeed later.
_RETRIABLE_CODES = frozenset(
    {
        KafkaError._TIMED_OUT,
        KafkaError._MSG_TIMED_OUT,
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._DESTROY_BROKER,  # the client has replaced its connection, as brokers come and go
        KafkaError._WAIT_COORD,
        KafkaError._IN_PROGRESS,
        KafkaError._QUEUE_FULL,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._PURGE_INFLIGHT,
        KafkaError._PURGE_QUEUE,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.NOT_ENOUGH_REPLICAS,
        KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.CONCURRENT_TRANSACTIONS,
        KafkaError.NOT_CONTROLLER,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError.KAFKA_STORAGE_ERROR,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.PREFERRED_LEADER_NOT_AVAILABLE,
        KafkaError.REPLICA_NOT_AVAILABLE,
        KafkaError.UNKNOWN_TOPIC_ID,
        KafkaError.THROTTLING_QUOTA_EXCEEDED,
        KafkaError.UNSTABLE_OFFSET_COMMIT,
        KafkaError._RESOLVE,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError._OUTDATED,
        KafkaError._DESTROY,
        KafkaError._NOENT,  # "no leaders found", while brokers are not available
    }
)


class KafkaClientError(ConnectError):
    """A Kafka operation failed, and would fail again."""


class RetriableKafkaError(RetriableError):
    """A Kafka operation failed for now: a timeout, a broker that is not available, a leader that moves."""


class AuthorizationError(KafkaClientError):
    """The principal lacks an ACL."""


class RecordTooLargeError(KafkaClientError):
    """Client or broker do not take a record of that size."""


class TopicAuthorizationError(AuthorizationError):
    """The principal lacks an ACL for ``topic``."""

    def __init__(self, message: str, topic: str) -> None:
        super().__init__(message)
        self.topic = topic


class ProducerFencedError(KafkaClientError):
    """Another producer has taken the transactional id over; this one can write no more (invariant 2)."""


class UncertainCommitError(RetriableKafkaError):
    """It is unknown whether the transaction was committed; the producer is tainted (invariant 5)."""


class IncompleteTransactionError(RetriableKafkaError):
    """Not all that belongs to the transaction was acknowledged: it is aborted, and its records are read again."""


def is_too_large(error: BaseException) -> bool:
    """Return True if a record was refused for its size, by the client or the broker."""
    found = kafka_error(error) or (kafka_error(error.__cause__) if error.__cause__ is not None else None)
    return found is not None and found.code() in _TOO_LARGE_CODES


def clock_skew_error(doing: str) -> RetriableKafkaError:
    """Return the error for brokers that refuse the time which this machine's clock has put on a record (KIP-937).

    Neither the record nor the principal is at fault, and a clock can be set right: so it is retriable.
    """
    now = datetime.now(UTC).isoformat(" ", "seconds")
    return RetriableKafkaError(
        f"{doing} failed: the clock of this machine says {now}, which is too far from the brokers' "
        "(message.timestamp.after.max.ms, message.timestamp.before.max.ms); set it right, or theirs"
    )


def is_refused(error: KafkaError) -> bool:
    """Return True if a record was not written, and will not be however often it is sent."""
    return error.code() in _REFUSED_CODES and not error.fatal()


def kafka_error(error: BaseException | KafkaError) -> KafkaError | None:
    """Return the client's own error within an exception, None if there is none."""
    if isinstance(error, KafkaError):
        return error
    if isinstance(error, KafkaException) and error.args and isinstance(error.args[0], KafkaError):
        return error.args[0]
    return None


def clear_tracebacks(error: BaseException) -> None:
    """Clear the tracebacks and contexts of ``error`` and its causes, so that they refer to no frames any more.

    To be called for each error that comes out of a client's callback: confluent-kafka never lets go of such a
    SystemError, and the producer of each frame that it came through would live on, with its threads and connections.
    """
    each: BaseException | None = error
    while each is not None and each.__traceback__ is not None:
        each.__traceback__ = each.__context__ = None
        each = each.__cause__


def call_outside_handler(call: Callable[[], T]) -> T:
    """Make a ``call`` of a client, on another thread while an exception is handled on this one.

    Return what it returns, or raise what it raises.

    confluent-kafka never lets go of the exception that is handled while it raises one of its own, nor of its frames.
    """
    if sys.exception() is None:
        return call()
    with ThreadPoolExecutor(1, "kafka-call") as other:
        return other.submit(call).result()


def fatal_error(producer: Producer) -> KafkaError | None:
    """Return the error that has ended a transactional producer for good (fenced, most often); None if there is none.

    Call it after any failure, before the producer is closed: it leaves the producer in no state to continue. The
    client raises a fatal error only once, out of whatever callback is at hand (as a SystemError at times), and the
    records that were on their way then say no more than that they were purged.
    """
    try:
        call_outside_handler(producer.begin_transaction)
    except KafkaException as e:
        error = kafka_error(e)
        return error if error is not None and error.fatal() else None
    return None


def unauthorized_transaction(producer: Producer) -> KafkaError | None:
    """Return the authorization error for which the coordinator took no partition into the open transaction, or None.

    Call it within a transaction only. Records that fail for it say no more than that they were purged.
    """
    try:
        call_outside_handler(producer.begin_transaction)
    except KafkaException as e:
        error = kafka_error(e)
        return error if error is not None and error.code() in AUTHORIZATION_CODES else None
    return None


def is_retriable(error: KafkaError) -> bool:
    """Return True if the same operation may succeed later."""
    if error.fatal() or error.code() in FATAL_CODES:
        return False
    return error.retriable() or error.code() in _RETRIABLE_CODES


def is_lost_login(error: BaseException | KafkaError) -> bool:
    """Return True if brokers refused the login of a client; of one that was logged in before, it may pass.

    Tickets and tokens are renewed when their server is back; after a lasting refusal the next client fails at its own
    first login.
    """
    cause = kafka_error(error)
    return cause is not None and cause.code() == KafkaError._AUTHENTICATION


def connect_error(error: BaseException | KafkaError, doing: str, *, logged_in: bool = False) -> ConnectError:
    """Return the error to raise for a client's ``error`` that happened while ``doing`` ("writing to topic x").

    ``logged_in``: the client has been logged in before, so that a refused login is retriable.
    """
    cause = kafka_error(error)
    if cause is None:
        return error if isinstance(error, ConnectError) else KafkaClientError(f"{doing} failed: {error}")
    message = f"{doing} failed: {cause.str()} ({cause.name()})"
    if cause.code() in FENCED_CODES:
        return ProducerFencedError(message)
    if cause.code() in AUTHORIZATION_CODES:
        return AuthorizationError(message)
    if cause.code() in _LOST_TRANSACTION_CODES:
        return UncertainCommitError(message)
    retriable = is_retriable(cause) or (logged_in and is_lost_login(cause))
    return RetriableKafkaError(message) if retriable else KafkaClientError(message)
