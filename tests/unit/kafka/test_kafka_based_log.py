# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, Message

from headrace.kafka.errors import KafkaClientError
from headrace.kafka.log.kafka_based_log import KafkaBasedLog

PROPS = {"bootstrap.servers": "127.0.0.1:1"}


def take(code: int) -> object:
    """The result of an error that the consumer reports."""
    log = KafkaBasedLog("t", PROPS, None, lambda records: None, PROPS)
    return log._record(Message(topic="t", partition=0, offset=4, error=KafkaError(code, "CRC32C check")), {})


@pytest.mark.parametrize("code", [KafkaError._BAD_MSG, KafkaError._BAD_COMPRESSION, KafkaError.INVALID_MSG])
def test_records_that_the_consumer_skips_end_the_log(code: int) -> None:
    """Who reads the rest would take a part for the whole."""
    with pytest.raises(KafkaClientError, match="must not be left out: topic 't' partition 0, offset 4: CRC32C check"):
        take(code)


@pytest.mark.parametrize("code", [KafkaError._TRANSPORT, KafkaError.UNKNOWN_TOPIC_OR_PART])
def test_what_may_pass_is_waited_for(code: int) -> None:
    assert take(code) is None
