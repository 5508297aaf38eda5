# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pyarrow as pa

from headrace.task.source.source_batch import OffsetsByKey, SourceBatch, offsets_of_records, offsets_of_table
from headrace.task.topic_batch import TopicBatch


def shown(offsets: OffsetsByKey) -> list[tuple[bytes, bytes | None]]:
    assert all(key == offset.key for key, offset in offsets.items())
    return [(offset.key, offset.value) for offset in offsets.values()]


def test_the_last_offset_of_each_partition_in_the_order_seen_last(record: Any) -> None:
    a, b = {"p": "a"}, {"p": "b"}
    records = [record("v", n, partition=p) for n, p in enumerate([a, b, a, a, b, a])]
    expected = [(b'["c",{"p":"b"}]', b'{"n":4}'), (b'["c",{"p":"a"}]', b'{"n":5}')]
    assert shown(offsets_of_records("c", records)) == expected


def test_partitions_are_compared_by_value(record: Any) -> None:
    records = [record("v", n, partition={"p": "a"}) for n in (3, 1, 2)]
    assert shown(offsets_of_records("c", records)) == [(b'["c",{"p":"a"}]', b'{"n":2}')]
    records = [record("v", n, partition={"p": p}) for n, p in enumerate("aba")]
    assert [key for key, _ in shown(offsets_of_records("c", records))] == [b'["c",{"p":"b"}]', b'["c",{"p":"a"}]']


def test_no_partition_stores_nothing_and_no_offset_forgets(record: Any) -> None:
    records = [record("v", 1, partition=None), record("v", None), record("v", 2, partition=None)]
    assert shown(offsets_of_records("c", records)) == [(b'["c",{"p":"p"}]', None)]
    assert offsets_of_records("c", []) == {}


def test_a_table_gives_what_its_records_would() -> None:
    table = pa.table(
        {
            "topic": ["t"] * 3,
            "value": ["1", "2", "3"],
            "source_partition": [{"p": "a"}, {"p": "b"}, {"p": "a"}],
            "source_offset": [{"n": 1}, {"n": 2}, {"n": 3}],
        }
    )
    assert dict(shown(offsets_of_table("c", table))) == {
        b'["c",{"p":"a"}]': b'{"n":3}',
        b'["c",{"p":"b"}]': b'{"n":2}',
    }


def test_the_mean_size_is_that_of_keys_and_values_without_dead_letters() -> None:
    batches = [TopicBatch("t", [b"12345", None], keys=[b"k", None]), TopicBatch("u", [b"123"])]
    assert SourceBatch(batches, {}, 4, dead_letters=TopicBatch("dead", [b"1" * 99])).mean_size() == 3
    assert SourceBatch([], {}, 1, dead_letters=TopicBatch("dead", [b"1" * 99])).mean_size() is None
