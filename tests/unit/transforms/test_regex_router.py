# SPDX-License-Identifier: Apache-2.0
"""RegexRouter beyond the vectors."""

from __future__ import annotations

import pytest

from headrace.api.errors import ConfigError, DataError
from headrace.api.headers import Headers
from headrace.api.record import SourceRecord
from headrace.transforms import regex_router
from headrace.transforms.regex_router import RegexRouter


def router(regex: str, replacement: str) -> RegexRouter[SourceRecord]:
    made: RegexRouter[SourceRecord] = RegexRouter()
    made.configure({"regex": regex, "replacement": replacement})
    return made


def routed(regex: str, replacement: str, topic: str) -> str:
    record = router(regex, replacement).apply(SourceRecord({}, {}, topic))
    assert record is not None
    return record.topic


@pytest.mark.parametrize(
    ("regex", "replacement", "topic", "expected"),
    [
        (r"db\.(?<schema>\w+)\.(?<table>\w+)", "${table}_${schema}", "db.public.users", "users_public"),
        (r"prod-(.*)", r"\$$1", "prod-x", "$x"),
        ("a|ab", "x", "ab", "xb"),  # the whole matches, but the first match is less
        (".*?", "x", "ab", "xab"),
        ("(.*)", "$1$1", "é", "éé"),
    ],
)
def test_as_java_replaces(regex: str, replacement: str, topic: str, expected: str) -> None:
    assert routed(regex, replacement, topic) == expected


def test_a_record_whose_topic_stays_is_the_same_record() -> None:
    same = router("x.*", "y")
    record = SourceRecord({}, {}, "orders", headers=Headers().add_string("h", "v"))
    assert same.apply(record) is record
    assert same.apply(record) is record


def test_the_input_is_left_alone() -> None:
    record = SourceRecord({"p": 1}, {"o": 1}, "orders", 3, value="v", headers=Headers().add_string("h", "v"))
    renamed = router("orders", "other").apply(record)
    assert renamed == record.replace(topic="other")
    assert record.topic == "orders"


def test_what_is_remembered_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex_router, "_REMEMBERED", 3)
    made = router("t(.*)", "u$1")
    for number in [*range(10), *range(10)]:
        record = made.apply(SourceRecord({}, {}, f"t{number}"))
        assert record is not None
        assert record.topic == f"u{number}"
    assert len(made._routes) <= 3


def test_errors() -> None:
    with pytest.raises(ConfigError, match=r"regex: Invalid regex: Dangling meta character '\*'"):
        router("a**", "x")
    with pytest.raises(DataError, match="names a group x"):
        routed("(.*)", "${x}", "t")
    with pytest.raises(DataError, match="has none"):
        router(".*", "x").apply(SourceRecord({}, {}, None))  # type: ignore[arg-type]
    assert routed("other", "$7", "t") == "t"  # wrong, but never used
