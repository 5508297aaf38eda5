# SPDX-License-Identifier: Apache-2.0
"""The predicates beyond the vectors."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.api.errors import ConfigError
from headrace.api.headers import Headers
from headrace.api.record import SourceRecord
from headrace.api.schema import Schema
from headrace.api.transform import Predicate
from headrace.transforms import predicates
from headrace.transforms.predicates import HasHeaderKey, RecordIsTombstone, TopicNameMatches


def test_has_header_key() -> None:
    predicate: HasHeaderKey[SourceRecord] = HasHeaderKey()
    predicate.configure({"name": "h"})
    assert predicate.test(SourceRecord({}, {}, "t", headers=Headers().add_int("a", 1).add("h", None)))
    assert not predicate.test(SourceRecord({}, {}, "t", headers=Headers().add_int("H", 1)))
    bare = SourceRecord({}, {}, "t")
    assert not predicate.test(bare)
    assert bare._headers is None


def test_record_is_tombstone() -> None:
    predicate: RecordIsTombstone[SourceRecord] = RecordIsTombstone()
    predicate.configure({})
    assert predicate.test(SourceRecord({}, {}, "t", key="k", value_schema=Schema.OPTIONAL_STRING))
    assert not any(predicate.test(SourceRecord({}, {}, "t", value=value)) for value in (0, "", False, {}))


def test_topic_name_matches_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predicates, "_REMEMBERED", 2)
    predicate: TopicNameMatches[SourceRecord] = TopicNameMatches()
    predicate.configure({"pattern": r"(?i)orders|\Qa.b\E"})
    topics = {"Orders": True, "orders2": False, "a.b": True, "axb": False}
    for topic, expected in [*topics.items(), *topics.items()]:
        assert predicate.test(SourceRecord({}, {}, topic)) is expected
    assert len(predicate._known) <= 2
    assert predicate.test(SourceRecord({}, {}, None)) is False  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("predicate", "config"),
    [
        (HasHeaderKey(), {}),
        (HasHeaderKey(), {"name": ""}),
        (TopicNameMatches(), {"pattern": ""}),
        (TopicNameMatches(), {"pattern": "("}),
        (TopicNameMatches(), {"pattern": None}),
    ],
)
def test_configurations_that_cannot_be(predicate: Predicate[Any], config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        predicate.configure(config)
