# SPDX-License-Identifier: Apache-2.0
"""The open transactions of a partition, which its read_committed readers wait for (KIP-664)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kafka import KafkaAdminClient, TopicPartition

from headrace.kafka.clients.client_config import kafka_python_config

_REQUEST_TIMEOUT_MS = 3_000


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction that has begun in a partition at ``start`` and not ended.

    ``transactional_id`` is None where no coordinator knows it, or none may be asked: the transaction may be hanging.
    """

    producer_id: int
    start: int
    transactional_id: str | None

    def __str__(self) -> str:
        name = f"transactional.id {self.transactional_id}" if self.transactional_id else "unknown transactional.id"
        return f"{name}, producer id {self.producer_id}, open from offset {self.start} on"


def open_transactions(props: Mapping[str, str], topic: str, partition: int) -> tuple[OpenTransaction, ...]:
    """Return the partition's open transactions, the oldest first. Blocks for some seconds at most.

    ``props`` are Java-style admin properties. kafka-python's errors are raised as they come: this serves messages only.
    """
    admin = KafkaAdminClient(**{**kafka_python_config(props), "request_timeout_ms": _REQUEST_TIMEOUT_MS})
    try:
        place = TopicPartition(topic, partition)
        producers = admin.describe_producers([place])[place].active_producers
        starts = {
            p.producer_id: p.current_transaction_start_offset
            for p in producers
            if p.current_transaction_start_offset >= 0
        }
        names = _names(admin, starts) if starts else {}
    finally:
        admin.close()
    found = [OpenTransaction(id, start, names.get(id)) for id, start in starts.items()]
    return tuple(sorted(found, key=lambda each: each.start))


def _names(admin: KafkaAdminClient, producer_ids: Mapping[int, int]) -> dict[int, str]:
    try:
        listed = admin.list_transactions(producer_id_filters=list(producer_ids))
    except Exception:  # not every principal has an ACL for transactional ids
        return {}
    return {each.producer_id: each.transactional_id for of_broker in listed.values() for each in of_broker}
