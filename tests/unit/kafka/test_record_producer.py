# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, Message

from headrace.kafka.data.record_producer import UNKNOWN_OFFSET, RecordProducer
from headrace.kafka.errors import KafkaClientError, RetriableKafkaError
from tests.support.polling import wait_for


@pytest.fixture
def producer() -> RecordProducer:
    return RecordProducer({"bootstrap.servers": "localhost:1"})


def fail(producer: RecordProducer, code: int) -> None:
    producer._on_delivery(None, None, KafkaError(code), Message(topic="t"))


def test_a_login_that_is_lost_may_be_had_again(producer: RecordProducer) -> None:
    """The broker had authenticated the client before, or the record would not have been sent."""
    fail(producer, KafkaError._AUTHENTICATION)
    failure = producer.delivery_failure()
    assert isinstance(failure, RetriableKafkaError)
    assert str(failure) == "writing to topic t failed: Local: Authentication failure (_AUTHENTICATION)"


def test_a_failure_that_stays_counts_more_than_a_lost_login(producer: RecordProducer) -> None:
    fail(producer, KafkaError._AUTHENTICATION)
    fail(producer, KafkaError.MSG_SIZE_TOO_LARGE)
    failure = producer.delivery_failure()
    assert isinstance(failure, KafkaClientError) and "MSG_SIZE_TOO_LARGE" in str(failure)


@pytest.mark.parametrize(("reported", "offset"), [(0, 0), (7, 7), (-1001, UNKNOWN_OFFSET)])
def test_an_offset_that_the_brokers_do_not_report(producer: RecordProducer, reported: int, offset: int) -> None:
    """The client has -1001 then, and Java -1."""
    places: list[object] = []
    delivered = Message(topic="t", partition=2, offset=reported)
    producer._on_delivery(lambda *place: places.append(place), None, None, delivered)
    assert places == [("t", 2, offset, None)]


def test_transport_errors_are_reported_while_records_are_on_their_way() -> None:
    """A broker that closes a connection which is not in use is no error."""
    met: list[str] = []
    producer = RecordProducer({"bootstrap.servers": "127.0.0.1:1"})
    producer.on_transport_error = lambda error: met.append(str(error))
    producer.serve(0.5)
    assert met == []
    producer.send("t", None, b"value")
    wait_for(lambda: producer.serve(0.1) or met, 10)
    assert "_TRANSPORT" in met[0] or "_ALL_BROKERS_DOWN" in met[0]
    producer.close()
