# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatchBuilder  # type: ignore[import-untyped]

from headrace.kafka.data.record_producer import RecordProducer
from headrace.kafka.errors import KafkaClientError
from headrace.task.source.record_sizes import (
    MAX_OVERHEAD,
    MAX_REQUEST_SIZE,
    SizeLimits,
    batch_size,
    client_size,
    max_headers_size,
)

HEADERS = [("name", b"value"), ("none", None)]


@pytest.mark.parametrize("headers", [None, HEADERS])
@pytest.mark.parametrize("key", [None, b"", b"key"])
@pytest.mark.parametrize("length", [None, 0, 10, 51, 52, 63, 64, 8191, 8192, 1_000_000, 1_048_576])
def test_the_size_of_a_batch_of_one_record(length: int | None, key: bytes | None, headers: Any) -> None:
    value = None if length is None else b"v" * length
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 2_000_000)
    builder.append(0, 1_700_000_000_000, key, value, headers or [])
    size = batch_size(key, value, headers)
    assert size == len(builder.build())


HEADER = st.tuples(st.text(max_size=20), st.none() | st.binary(max_size=300))


@given(st.none() | st.binary(max_size=300), st.none() | st.binary(max_size=300), st.none() | st.lists(HEADER))
def test_what_a_batch_is_looked_at_with_is_never_too_little(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]] | None
) -> None:
    most = len(key or b"") + len(value or b"") + max_headers_size(headers) + MAX_OVERHEAD
    assert max(batch_size(key, value, headers), client_size(key, value, headers)) <= most


@pytest.mark.parametrize("headers", [None, HEADERS])
@pytest.mark.parametrize("key", [None, b"key"])
def test_the_client_refuses_what_is_larger_than_it_says(key: bytes | None, headers: Any) -> None:
    producer = RecordProducer({"bootstrap.servers": "127.0.0.1:1", MAX_REQUEST_SIZE: "2000"})
    length = 2000 - client_size(key, b"", headers)
    producer.send("t", key, b"v" * length, headers=headers)
    with pytest.raises(KafkaClientError, match="MSG_SIZE_TOO_LARGE"):
        producer.send("t", key, b"v" * (length + 1), headers=headers)
    producer.close()


class Topics:
    def __init__(self, *answers: int | None) -> None:
        self._answers: Iterator[int | None] = iter(answers)
        self.asked = 0

    def __call__(self, topic: str) -> int | None:
        self.asked += 1
        return next(self._answers)


def test_the_clients_limit_comes_first() -> None:
    error = SizeLimits(1000, Topics(None)).check("t", None, b"v" * 965, None)
    assert (
        str(error)
        == "writing to topic t is not possible: the record has 1001 bytes, the producer's max.request.size=1000"
    )
    assert SizeLimits(1000, None).check("t", None, b"v" * 964, None) is None


def test_a_topic_is_asked_again_before_it_refuses() -> None:
    topics = Topics(500, 2000, 500)
    limits = SizeLimits(10_000, topics)
    assert limits.of("t").least == 500
    assert limits.check("t", None, b"v" * 1000, None) is None, "it takes more by now"
    assert topics.asked == 2
    error = limits.check("t", None, b"v" * 3000, None)
    assert "the topic's max.message.bytes=500" in str(error)
    assert (limits.of("t").least, topics.asked) == (500, 3)


def test_a_topic_that_is_not_there_yet_is_asked_with_each_batch() -> None:
    limits = SizeLimits(10_000, Topics(None, 500))
    assert [limits.of("t").least for _ in range(3)] == [10_000, 500, 500]
