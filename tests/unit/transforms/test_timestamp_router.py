# SPDX-License-Identifier: Apache-2.0
"""TimestampRouter beyond the vectors."""

from __future__ import annotations

import pytest

from headrace.api.errors import DataError
from headrace.api.record import SourceRecord
from headrace.transforms import timestamp_router
from headrace.transforms.timestamp_router import TimestampRouter


def router(**config: str) -> TimestampRouter[SourceRecord]:
    made: TimestampRouter[SourceRecord] = TimestampRouter()
    made.configure({name.replace("_", "."): value for name, value in config.items()})
    return made


def routed(made: TimestampRouter[SourceRecord], timestamp: int | None, topic: str = "t") -> str:
    record = made.apply(SourceRecord({}, {}, topic, timestamp=timestamp))
    assert record is not None
    return record.topic


def test_each_moment_has_its_own_name() -> None:
    made = router(timestamp_format="yyyy-MM-dd HH:mm")
    moments = [0, 59_999, 60_000, -1, 86_400_000, 0]
    assert [routed(made, moment)[2:] for moment in moments] == [
        "1970-01-01 00:00",
        "1970-01-01 00:00",
        "1970-01-01 00:01",
        "1969-12-31 23:59",
        "1970-01-02 00:00",
        "1970-01-01 00:00",
    ]
    assert routed(made, 0, "u") == "u-1970-01-01 00:00"


def test_placeholders() -> None:
    assert routed(router(topic_format="${timestamp}/${topic}"), 0, "${timestamp}") == "19700101/19700101"
    assert routed(router(topic_format="x"), 0) == "x"


def test_what_is_remembered_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timestamp_router, "_REMEMBERED", 3)
    made = router(timestamp_format="SSS")
    assert [routed(made, moment) for moment in range(10)] == [f"t-00{moment}" for moment in range(10)]
    assert len(made._routes) <= 3


def test_errors() -> None:
    with pytest.raises(DataError, match="Timestamp missing on a record of topic t"):
        routed(router(), None)
    with pytest.raises(DataError, match=r"timestamp\.format is not one of SimpleDateFormat: Illegal .* 'q'"):
        routed(router(timestamp_format="q"), 0)
    with pytest.raises(DataError, match="has none"):
        routed(router(), 0, None)  # type: ignore[arg-type]
