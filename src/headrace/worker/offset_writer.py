# SPDX-License-Identifier: Apache-2.0
"""Writes of offset records to a connector's primary offsets topic while no task of it runs (KIP-875)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headrace.api.errors import RetriableError
from headrace.config.client_configs import TRANSACTIONAL_ID
from headrace.kafka.data.record_producer import RecordProducer
from headrace.kafka.data.transactional_producer import TransactionalProducer
from headrace.kafka.errors import ProducerFencedError

_TIMEOUT: Final = 60.0
"""Seconds for each step: to become the only writer, to have all delivered, to commit."""


def write_offsets(props: Mapping[str, str], topic: str, records: Mapping[bytes, bytes | None]) -> None:
    """Write all in one transaction if ``props`` have a ``transactional.id``; else one after the other. Blocks.

    Raise RetriableError if they may or may not be written.
    """
    if TRANSACTIONAL_ID in props:
        _write_transaction(props, topic, records)
    else:
        _write_plainly(props, topic, records)


def _write_transaction(props: Mapping[str, str], topic: str, records: Mapping[bytes, bytes | None]) -> None:
    producer = TransactionalProducer(props)
    try:
        producer.init_transactions(_TIMEOUT)
        producer.begin()
        for key, value in records.items():
            producer.records.send(topic, key, value)
        producer.commit(_TIMEOUT, len(records))
    except ProducerFencedError as error:
        # The connector's first task has this transactional.id too: it may run again, by another leader's will.
        raise RetriableError(f"Another worker writes with transactional.id {producer.transactional_id} now") from error
    finally:
        producer.close()


def _write_plainly(props: Mapping[str, str], topic: str, records: Mapping[bytes, bytes | None]) -> None:
    producer = RecordProducer(props)
    try:
        for key, value in records.items():
            producer.send(topic, key, value)
        delivered = producer.flush(_TIMEOUT)
        failure = producer.delivery_failure()
        if failure is not None:
            raise failure
        if not delivered:
            raise RetriableError(f"The offsets were not written to topic {topic} in {_TIMEOUT:g} s")
    finally:
        producer.close()
