# SPDX-License-Identifier: Apache-2.0
"""What goes out of a chain with steps on frames, and when: polls of a transaction are gathered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from headrace.api import Schema, SourceRecord
from headrace.config.source_connector_config import SourceConnectorConfig
from headrace.plugins.discovery import Plugins
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance
from headrace.task.frames.frame_chain import FrameChain
from headrace.task.record_converter import create_record_converter
from headrace.task.source.frame_batches import FrameBatches
from headrace.task.source.source_batch import OffsetsByKey
from headrace.task.task_converters import TaskConverters
from headrace.task.task_metrics import TaskMetrics

CONVERTERS = dict.fromkeys(("key.converter", "value.converter"), "StringConverter")


class Chain(FrameChain[Any]):
    """Notes what it is given; a function makes something of it."""

    def __init__(self, make: Callable[[Any], list[Any]] = lambda polled: [polled]) -> None:
        super().__init__(())
        self.given: list[Any] = []
        self._make = make

    def apply(self, polled: Any) -> list[Any]:
        self.given.append(polled)
        return self._make(polled)


def batches(chain: FrameChain[Any], gather: int = 1, *, remember: bool = False) -> FrameBatches:
    config = SourceConnectorConfig({"name": "c", "connector.class": "x"})
    errors: RetryWithTolerance[SourceRecord] = RetryWithTolerance(
        config.error_handling, (), TaskMetrics(lambda values: None, lambda: 0.0), lambda seconds: False
    )
    converter = create_record_converter(TaskConverters(CONVERTERS, {}, Plugins()), errors)
    return FrameBatches("c", chain, converter, remember=remember, gather=gather)


def records(*numbers: int) -> list[SourceRecord]:
    return [SourceRecord({"p": 1}, {"o": n}, "t", None, None, None, Schema.STRING, str(n)) for n in numbers]


def table(*numbers: int) -> pa.Table:
    columns = {"topic": ["t"] * len(numbers), "value": [str(n) for n in numbers]}
    offsets = {"source_partition": [{"p": 1}] * len(numbers), "source_offset": [{"o": n} for n in numbers]}
    return pa.table(columns | offsets)


def offsets_of(offsets: OffsetsByKey) -> list[Any]:
    return [offset.offset for offset in offsets.values()]


def test_each_poll_goes_out_by_itself() -> None:
    made = batches(Chain())
    batch = made.convert(records(1, 2))
    assert [topic.values for topic in batch.topic_batches] == [[b"1", b"2"]]
    assert (batch.size, offsets_of(batch.offsets), made.take_rest()) == (2, [{"o": 2}], None)


def test_polls_are_gathered_until_there_are_enough() -> None:
    chain = Chain()
    made = batches(chain, gather=4)
    first = made.convert(records(1, 2))
    assert (first.size, first.offsets) == (0, {})
    second = made.convert(records(3, 4))
    assert (second.size, offsets_of(second.offsets)) == (4, [{"o": 4}])
    assert len(chain.given) == 1


def test_the_rest_goes_out_before_a_transaction_ends() -> None:
    made = batches(Chain(), gather=100)
    for n in range(3):
        made.convert(records(n))
    rest = made.take_rest()
    assert rest is not None
    assert (rest.size, offsets_of(rest.offsets)) == (3, [{"o": 2}])
    assert made.take_rest() is None


def test_tables_of_one_type_are_joined_and_nothing_else_is() -> None:
    chain = Chain()
    made = batches(chain, gather=100)
    for polled in (table(1), table(2, 3), records(4), records(5), table(6)):
        made.convert(polled)
    rest = made.take_rest()
    assert rest is not None
    assert [len(given) for given in chain.given] == [3, 2, 1]
    assert [value for topic in rest.topic_batches for value in topic.values] == [b"1", b"2", b"3", b"4", b"5", b"6"]
    assert offsets_of(rest.offsets) == [{"o": 6}]


def test_offsets_of_what_a_chain_empties_count() -> None:
    batch = batches(Chain(lambda polled: [])).convert(records(1, 2))
    assert (batch.size, list(batch.topic_batches), offsets_of(batch.offsets)) == (0, [], [{"o": 2}])


@pytest.mark.parametrize("remember", [True, False])
def test_a_task_that_overrides_commit_record_gets_all_records(remember: bool) -> None:
    polled = records(1, 2)
    assert list(batches(Chain(), remember=remember).convert(polled).dropped) == (polled if remember else [])


def test_what_a_failed_batch_had_is_not_sent_later() -> None:
    def fail(polled: Any) -> list[Any]:
        raise ValueError("no")

    made = batches(Chain(fail), gather=100)
    made.convert(records(1))
    with pytest.raises(ValueError, match="no"):
        made.take_rest()
    assert made.take_rest() is None
