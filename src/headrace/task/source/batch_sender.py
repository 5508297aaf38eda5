# SPDX-License-Identifier: Apache-2.0
"""Hands a converted batch to a producer by the cheapest call that loses nothing of it."""

from __future__ import annotations

from collections.abc import Callable

from headrace.api.record import SourceRecord
from headrace.api.source import RecordMetadata
from headrace.kafka.data.record_producer import Delivered, RecordProducer, Refused
from headrace.task.record_converter import TopicBatch

RecordDelivered = Callable[[SourceRecord, RecordMetadata], None]


def send(
    producer: RecordProducer,
    batch: TopicBatch,
    delivered: Delivered | None = None,
    record_delivered: RecordDelivered | None = None,
    refused: Refused | None = None,
) -> None:
    """Send all rows in order. ``delivered`` is told of each row; ``record_delivered`` also which record it was.

    ``refused`` is told of what brokers refuse for good; without it that is a failed delivery.
    """
    if batch.plain and (record_delivered is None or batch.sources is None):
        producer.send_all(batch.topic, batch.keys, batch.values, delivered, refused)
        return
    for row, value in enumerate(batch.values):
        told = delivered
        if record_delivered is not None and batch.sources is not None:
            told = _telling(batch.sources[row], record_delivered, delivered)
        producer.send(
            batch.topic,
            batch.keys[row] if batch.keys else None,
            value,
            batch.partitions[row] if batch.partitions else None,
            batch.timestamps[row] if batch.timestamps else None,
            batch.headers[row] if batch.headers else None,
            told,
            refused,
        )


def _telling(record: SourceRecord, tell: RecordDelivered, delivered: Delivered | None) -> Delivered:
    def on_delivered(topic: str, partition: int, offset: int, timestamp: int | None) -> None:
        tell(record, RecordMetadata(topic, partition, offset, timestamp))
        if delivered is not None:
            delivered(topic, partition, offset, timestamp)

    return on_delivered
