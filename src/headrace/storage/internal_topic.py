# SPDX-License-Identifier: Apache-2.0
"""The common part of the three internal topics: their creation, and the clients that use them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from headrace.kafka.admin.topic_admin import TopicSpec
from headrace.kafka.errors import RetriableKafkaError
from headrace.kafka.log.kafka_based_log import KafkaBasedLog, LogRecord

log = logging.getLogger(__name__)
_NOT_SETTINGS = ("topic", "partitions", "replication.factor")
_LOSSES = {
    "config.storage": "Without it workers do not know what the cluster is to run: restore its records from a backup "
    "before workers are started again",
    "offset.storage": "Without it workers do not know how far source connectors have got, and records would be "
    "written again: restore its records from a backup before workers are started again",
}
"""The remedy for a deleted topic, by the prefix of its properties. A status topic is created again."""


@dataclass(frozen=True, slots=True)
class LogClients:
    """Java-style properties of the clients of one internal topic; no producer makes it read-only."""

    consumer: Mapping[str, str]
    producer: Mapping[str, str] | None
    admin: Mapping[str, str]


def compacted_topic(
    name: str, prefix: str, partitions: int, replication_factor: int, settings: Mapping[str, str] | None = None
) -> TopicSpec:
    """Return the specification of an internal topic; it is always compacted.

    ``prefix`` is ``config.storage``, ``offset.storage`` or ``status.storage``, ``settings`` the topic's own settings
    without that prefix.
    """
    own = {key: value for key, value in (settings or {}).items() if key not in _NOT_SETTINGS}
    policy = own.pop("cleanup.policy", "compact")
    if policy != "compact":
        log.warning("%s.cleanup.policy=%s has no effect: topic '%s' has to be compacted", prefix, policy, name)
    return TopicSpec(
        name, partitions, replication_factor, {**own, "cleanup.policy": "compact"}, prefix, loss=_LOSSES.get(prefix, "")
    )


def open_log(
    spec: TopicSpec,
    clients: LogClients,
    on_records: Callable[[Sequence[LogRecord]], None],
    on_remade: Callable[[], None] | None = None,
) -> KafkaBasedLog:
    """Return the log of an internal topic, not yet started.

    With ``on_remade`` the topic is created again if it is deleted.
    """
    return KafkaBasedLog(spec.name, clients.consumer, clients.producer, on_records, clients.admin, spec, on_remade)


def await_end(log: KafkaBasedLog, reading: Future[None], timeout: float) -> None:
    """Wait for a ``read_to_end``.

    Raise RetriableKafkaError, with the reason of the wait, after ``timeout`` seconds.
    """
    try:
        reading.result(timeout)
    except TimeoutError:
        waiting = log.waiting_for() or f"the end of topic '{log.topic}'"
        raise RetriableKafkaError(f"Topic '{log.topic}' was not read to its end in {timeout:g} s: {waiting}") from None
