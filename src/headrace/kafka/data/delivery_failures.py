# SPDX-License-Identifier: Apache-2.0
"""The failed deliveries of a producer, and the one error that they come to."""

from __future__ import annotations

import re
from collections.abc import Callable

from confluent_kafka import KafkaError, Producer

from headrace.api.errors import ConnectError
from headrace.kafka.clients.client_logs import LIBRDKAFKA_LOG
from headrace.kafka.errors import (
    TopicAuthorizationError,
    clock_skew_error,
    connect_error,
    is_lost_login,
    is_retriable,
    unauthorized_transaction,
)

_LOST_CONNECTION = ("FAIL ", "REQTMOUT ")
_COORDINATOR = "TxnCoordinator"
_UNAUTHORIZED = re.compile(r'Failed to add partition "(.+)" \[\d+\] to transaction: .*Topic authorization failed')


class DeliveryFailures:
    """The failures of one producer since they were last taken. Used by the producer's thread, within its calls."""

    def __init__(self) -> None:
        self._failed: list[tuple[KafkaError, str]] = []
        self._clock_skew_topic: str | None = None
        self._unauthorized_topic: str | None = None

    def __bool__(self) -> bool:
        return bool(self._failed)

    def note(self, error: KafkaError, topic: str) -> None:
        """Note the failed delivery of a record of ``topic``."""
        self._failed.append((error, topic))

    def note_clock_skew(self, topic: str) -> None:
        """Note that brokers refuse the client's own time: no record of ``topic`` is at fault."""
        self._clock_skew_topic = topic

    def note_unauthorized(self, topic: str) -> None:
        """Note the topic for which a transaction coordinator has denied authorization."""
        self._unauthorized_topic = topic

    def forget(self) -> None:
        """Discard the failed deliveries, those of records that are not needed any more."""
        self._failed, self._clock_skew_topic = [], None

    def take(self, client: Producer) -> ConnectError | None:
        """Return the first failed delivery since the last call; a lasting failure is preferred."""
        failed, late = self._failed, self._clock_skew_topic
        self.forget()
        lasting = next((each for each in failed if not _may_pass(each[0])), None)
        if lasting is None and late is not None:
            return clock_skew_error(f"writing to topic {late}")
        if not failed:
            return None
        error, topic = lasting or failed[0]
        if _is_purge(error) and (unauthorized := unauthorized_transaction(client)) is not None:
            error, topic = unauthorized, self._unauthorized_topic or topic
        # Records are sent only after a first login.
        failure = connect_error(error, f"writing to topic {topic}", logged_in=True)
        if error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            return TopicAuthorizationError(str(failure), topic)
        return failure


class ProducerLog:
    """A producer's logger that finds events which the client reports nowhere else.

    They are a lost connection to the transaction coordinator, after which it sends its request again without calling
    the error callback, and the topic for which the coordinator denied authorization.
    """

    def __init__(self, on_lost: Callable[[str], None], on_unauthorized: Callable[[str], None]) -> None:
        self._on_lost = on_lost
        self._on_unauthorized = on_unauthorized

    def log(self, level: int, text: str, *args: object) -> None:
        line = text % args if args else text
        if line.startswith(_LOST_CONNECTION) and _COORDINATOR in line:
            self._on_lost(line)
        elif (refused := _UNAUTHORIZED.search(line)) is not None:
            self._on_unauthorized(refused[1])
        LIBRDKAFKA_LOG.log(level, line)


def _may_pass(error: KafkaError) -> bool:
    return is_retriable(error) or _is_purge(error) or is_lost_login(error)


def _is_purge(error: KafkaError) -> bool:
    return error.code() in (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)
