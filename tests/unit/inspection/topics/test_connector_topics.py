# SPDX-License-Identifier: Apache-2.0
"""The topics that a connector may be asked about, and positions in requests."""

from __future__ import annotations

import pytest

from headrace.herder.errors import BadRequestError
from headrace.inspection.topics.records_job import check_positions, positions_of, positions_text, time_of
from headrace.inspection.topics.topic_records import ConnectorTopics, Direction

BOUNDS = {0: (3, 10), 1: (0, 5)}


def test_a_source_writes_its_active_topics_and_no_configured_ones() -> None:
    found = ConnectorTopics.of({"topics": "other", "topics.regex": ".*"}, ["a"], is_sink=False)
    assert found.directions == {"a": Direction.WRITES}
    assert found.includes("a") and not found.includes("other")


def test_a_sink_reads_configured_and_active_topics_and_writes_dead_letters() -> None:
    config = {"topics": "a, b", "errors.deadletterqueue.topic.name": " dead "}
    found = ConnectorTopics.of(config, ["b", "c"], is_sink=True)
    assert found.directions == {
        "a": Direction.READS,
        "b": Direction.READS,
        "c": Direction.READS,
        "dead": Direction.DEAD_LETTERS,
    }
    assert not found.includes("d")


def test_a_pattern_matches_whole_names() -> None:
    found = ConnectorTopics.of({"topics.regex": "orders-.*"}, [], is_sink=True)
    assert found.includes("orders-1") and not found.includes("my-orders-1") and not found.includes("orders")
    assert not ConnectorTopics.of({"topics.regex": "("}, [], is_sink=True).includes("(")
    assert not ConnectorTopics.of({"topics.regex": ""}, [], is_sink=True).includes("")


@pytest.mark.parametrize("text", ["begin", "end", "tail", "0", "17", "0:17", "0:17,12:4", "2026-06-01T08:00Z"])
def test_positions_are_words_offsets_or_pairs(text: str) -> None:
    check_positions(text)


@pytest.mark.parametrize(
    "text", ["", "first", "-1", "0:", "0:1,", "0:-1", "1:2:3", "9" * 19, "٣", "0:17 ", "2026-06-01T08:00"]
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(BadRequestError, match="from="):
        check_positions(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:01.0019Z", 1001),
        ("1970-01-01 02:00+02:00", 0),
        ("1970-01-01T00:00:00-0130", 5_400_000),
        ("0001-01-01T00:00:00+23:59", -62_135_683_140_000),
        *((text, None) for text in ("1970-01-01T00:00:00", "1970-02-30T00:00:00Z", "19700101T000000Z", "0", "")),
    ],
)
def test_times_have_a_zone_and_are_milliseconds(text: str, expected: int | None) -> None:
    assert time_of(text) == expected


def test_positions_begin_where_they_say() -> None:
    assert positions_of("begin", BOUNDS) == {0: 3, 1: 0}
    assert positions_of("end", BOUNDS) == {0: 10, 1: 5}
    assert positions_of("4", BOUNDS) == {0: 4, 1: 4}
    assert positions_of("1:2,7:1", BOUNDS) == {1: 2}
    assert positions_of(positions_text({1: 4, 0: 17}), BOUNDS) == {0: 17, 1: 4}
