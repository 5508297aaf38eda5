# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from headrace.api.errors import DataError
from headrace.api.sink import TopicPartition
from headrace.model.info import ConnectorOffset
from headrace.worker.offsets.sink_offsets import parse_sink_offsets, sink_offset
from tests.vectors.reader import load

BETTER = {"internal_replay/SinkUtils/sink-negative-offset"}
"""Java takes these, and the brokers refuse them with an error that is answered 500."""


def entry(topic: Any = "t", partition: Any = 0, offset: Any = None) -> ConnectorOffset:
    return ConnectorOffset({"kafka_topic": topic, "kafka_partition": partition}, offset)


@pytest.mark.parametrize("vector", load("internal_replay", op="parseSinkOffsets"))
def test_as_java_parses_them(vector: dict[str, Any]) -> None:
    asked = [ConnectorOffset(each["partition"], each["offset"]) for each in vector["input"]["offsets"]]
    if "error" in vector or vector["id"] in BETTER:
        with pytest.raises(DataError):
            parse_sink_offsets(asked)
        return
    wanted = {TopicPartition(each["topic"], each["partition"]): each["offset"] for each in vector["output"]}
    assert parse_sink_offsets(asked) == wanted


@pytest.mark.parametrize(
    "asked",
    [
        entry(partition=True),
        entry(partition=-1),
        entry(partition=2**31),
        entry(partition="one"),
        entry(topic=None),
        entry(offset={"kafka_offset": 2**63}),
        entry(offset={"kafka_offset": 1.5}),
        entry(offset={"kafka_offset": ""}),
        entry(offset={}),
    ],
)
def test_what_no_topic_has(asked: ConnectorOffset) -> None:
    with pytest.raises(DataError):
        parse_sink_offsets([asked])


def test_shown_and_parsed_again() -> None:
    for offset in (None, 0, 2**63 - 1):
        where = TopicPartition("t", 3)
        assert parse_sink_offsets([sink_offset(where, offset)]) == {where: offset}
