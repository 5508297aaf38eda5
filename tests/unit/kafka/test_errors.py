# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc
import weakref

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from headrace.api.errors import RetriableError
from headrace.kafka.errors import (
    AuthorizationError,
    KafkaClientError,
    ProducerFencedError,
    RetriableKafkaError,
    UncertainCommitError,
    connect_error,
    fatal_error,
)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (KafkaError._TRANSPORT, RetriableKafkaError),
        (KafkaError._MSG_TIMED_OUT, RetriableKafkaError),
        (KafkaError.NOT_COORDINATOR, RetriableKafkaError),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, AuthorizationError),
        (KafkaError._FENCED, ProducerFencedError),
        (KafkaError.INVALID_PRODUCER_EPOCH, ProducerFencedError),
        (KafkaError.INVALID_TXN_STATE, UncertainCommitError),
        (KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, UncertainCommitError),
        (KafkaError.INVALID_PRODUCER_ID_MAPPING, KafkaClientError),
        (KafkaError.MSG_SIZE_TOO_LARGE, KafkaClientError),
    ],
)
def test_the_type_decides_about_retries(code: int, expected: type) -> None:
    error = connect_error(KafkaException(KafkaError(code)), "writing to topic 't'")
    assert type(error) is expected
    assert str(error).startswith("writing to topic 't' failed: ")
    assert isinstance(error, RetriableError) == issubclass(expected, RetriableKafkaError)


def test_a_fatal_error_is_never_retriable() -> None:
    error = connect_error(KafkaError(KafkaError._TRANSPORT, "gone", fatal=True), "writing")
    assert type(error) is KafkaClientError


def test_looking_for_a_fatal_error_keeps_no_frames_of_the_error_that_is_handled() -> None:
    producer = Producer({"bootstrap.servers": "127.0.0.1:1", "transactional.id": "x"})

    def fail() -> weakref.ref[object]:
        local = type("Local", (), {})()
        try:
            raise ValueError(local)
        except ValueError:
            assert fatal_error(producer) is None
        return weakref.ref(local)

    local = fail()
    gc.collect()
    assert local() is None
