# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headrace.api.record import TimestampType
from headrace.herder.errors import BadRequestError
from headrace.inspection.dead_letters.letter import (
    KEPT,
    PASSED,
    Letter,
    Mark,
    cause_of,
    is_letter,
    kept_headers,
    original_headers,
)
from headrace.inspection.dead_letters.letter_filter import parse_filter
from headrace.inspection.dead_letters.letter_json import (
    letter_from_json,
    letter_to_json,
    outcome_from_json,
    outcome_to_json,
)
from headrace.inspection.dead_letters.letter_view import LetterPage, LetterQuery, parse_after
from headrace.inspection.dead_letters.redrive import plan_redrive
from headrace.inspection.dead_letters.redrive_rules import (
    Action,
    Choice,
    LetterRequest,
    Outcome,
    OutgoingRecord,
    marked,
    named_only,
    original_record,
    position_record,
)
from headrace.kafka.data.range_reader import Range
from headrace.task.errors.processing_context import ConsumedRecord

P = "__connect.errors."
MARK = Mark("c", "dead", 0, 1)
NOW = 1_800_000_000_000


def letter(offset: int = 0, partition: int = 0, timestamp: int | None = NOW, **failure: str) -> Letter:
    headers = [(P + name.replace("_", "."), text.encode()) for name, text in failure.items()]
    kind = TimestampType.CREATE_TIME
    return Letter("c", ConsumedRecord("dead", partition, offset, b"k", b"v", headers, timestamp, kind))


def with_headers(*headers: tuple[str, bytes | None]) -> Letter:
    return Letter("c", ConsumedRecord("dead", 0, 7, None, b"v", headers))


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("stage=VALUE_CONVERTER", True),
        ("stage!=VALUE_CONVERTER", False),
        ("stage=value_converter", False),
        ("message~=NO JSON", True),
        ("message~=.*", False),
        ("exception=x.Y", False),
        ("exception!=x.Y", True),
        ("topic=orders", True),
        ("offset=12", True),
        ("offset=13", False),
        ("offset=10-12", True),
        ("offset=13-", False),
        ("offset=-12", True),
        ("offset=1:12", True),
        ("offset=0:12", False),
        ("since=1h", True),
        ("until=1h", False),
        ("since=2027-01-15T08:00:00Z", True),
        ("until=2027-01-15T08:00:00", False),
        ("since=2027-01-15T08:00:00.001Z", False),
    ],
)
def test_filters(text: str, passes: bool) -> None:
    found = letter(12, 1, stage="VALUE_CONVERTER", topic="orders", exception_message="there is no JSON at 4")
    assert parse_filter([text], NOW).matches(found) is passes


@pytest.mark.parametrize(
    "text",
    ["", "stage", "colour=red", "since!=1h", "since=yesterday", "offset=", "offset=a", "offset=1:", "offset=1 2"],
)
def test_filters_that_are_none(text: str) -> None:
    with pytest.raises(BadRequestError, match="Invalid filter"):
        parse_filter([text], NOW)


def test_all_filters_have_to_match() -> None:
    both = parse_filter(["stage=A", "topic=t"], NOW)
    assert both.matches(letter(stage="A", topic="t"))
    assert not both.matches(letter(stage="A", topic="u"))
    assert not parse_filter([], NOW)


def test_messages_that_differ_in_numbers_have_one_cause() -> None:
    first, second = ({"stage": "S", "exception.message": f"line {n} is odd"} for n in (1, 22))
    assert cause_of(first) == cause_of(second) != cause_of({"stage": "T", "exception.message": "line 1 is odd"})


def test_of_each_header_about_a_failure_the_last_goes() -> None:
    found = with_headers(("own", None), (P + "topic", b"former"), (P + "topic", b"last"), MARK.header(KEPT))
    assert found.failure == {"topic": "last"}
    assert original_headers(found.record.headers) == [("own", None), (P + "topic", b"former")]
    assert kept_headers(found) == list(found.record.headers)
    again = kept_headers(letter(5))[-1]
    assert again == (KEPT, b'{"connector":"c","topic":"dead","partition":0,"offset":5}')
    assert with_headers(again).kept_from == "dead-0@5"


def test_what_is_a_letter_of_a_connector() -> None:
    again, position = MARK.header(KEPT), position_record("c", "g", "dead", 0, 7).headers[0]
    assert is_letter(with_headers()) and is_letter(with_headers(again))
    assert not is_letter(with_headers(position))
    assert not is_letter(Letter("other", with_headers(position).record))
    assert not is_letter(Letter("other", with_headers(again).record))
    # Brought from another dead letter topic, which the connector reads: the record failed a second time.
    elsewhere = [replace(MARK, topic="former").header(name) for name in (KEPT, PASSED)]
    assert is_letter(Letter("other", with_headers(*elsewhere).record))
    for value in (None, b"", b"no json", b"[]", b'{"connector":"c"}', b'{"connector":1,"topic":"dead"}'):
        assert is_letter(with_headers((PASSED, value)))


def test_a_letter_of_another_connector_has_to_be_asked_for() -> None:
    found = letter(connector_name="other")
    request = LetterRequest(Action.REDRIVE)
    assert (found.of_another, request.choose(found)) == (True, Choice.OF_ANOTHER)
    named = replace(request, filter=parse_filter(["connector=other"], NOW))
    assert named.choose(found) is Choice.TAKEN
    assert request.choose(letter(connector_name="c")) is request.choose(letter()) is Choice.TAKEN
    page = LetterPage(LetterQuery())
    page.add(found)
    assert page.to_json(99, None, str)["pending"] == 0


def test_letters_that_do_not_name_their_connector_stay_where_a_topic_is_shared() -> None:
    letters = [letter(0), letter(1, connector_name="c")]
    plain = lambda found: [Outcome() for _ in found]  # noqa: E731
    assert [each.failure is None for each in named_only(plain, [])(letters)] == [True, True]
    first, second = named_only(plain, ["d"])(letters)
    assert second == Outcome() and "and d has the same dead letter topic" in str(first.failure)


def test_redriven_records_are_counted_by_connector() -> None:
    first = marked(letter(), OutgoingRecord("t", None, None, None, [], None))
    came_back = with_headers(*first.headers, ("headrace.redriven", b"no json"))
    assert came_back.redriven == 1
    assert Letter("other", came_back.record).redriven == 0
    second = marked(came_back, first)
    assert with_headers(*second.headers).redriven == 2
    assert len(second.headers) == 1
    of_another = marked(Letter("other", came_back.record), second)
    assert [name for name, _ in of_another.headers] == ["headrace.redriven"] * 2
    assert with_headers(*of_another.headers).redriven == 2


def test_plans_end_at_the_last_letter_that_is_taken() -> None:
    letters = [letter(n, stage="AB"[n % 2]) for n in range(6)] + [letter(n, 1, stage="A") for n in range(3)]
    pending = {0: Range(0, 9), 1: Range(0, 9)}

    def plan(**request: Any) -> tuple[dict[int, Range], int, int]:
        found = plan_redrive(LetterRequest(Action.DISCARD, **request), pending, letters)
        return dict(found.ranges), found.counts.taken, found.counts.planned

    assert plan() == ({0: Range(0, 6), 1: Range(0, 3)}, 9, 9)
    assert plan(filter=parse_filter(["stage=B"], NOW), limit=2) == ({0: Range(0, 4)}, 2, 4)
    assert plan(filter=parse_filter(["stage=C"], NOW)) == ({}, 0, 0)
    assert plan(limit=7) == ({0: Range(0, 6), 1: Range(0, 1)}, 7, 7)


def test_a_sinks_record_goes_to_a_topic_of_the_connector() -> None:
    found = Letter("c", replace(letter().record, headers=[(P + "topic", b"orders"), (P + "partition", b"3")]))
    outgoing = original_record(found, None, "orders".__eq__).records[0]
    assert (outgoing.topic, outgoing.partition, outgoing.key, outgoing.value) == ("orders", 3, b"k", b"v")
    outgoing = original_record(found, "other", "orders".__eq__).records[0]
    assert (outgoing.topic, outgoing.partition) == ("other", None)
    assert original_record(found, None, "invoices".__eq__).failure
    assert original_record(letter(), None, "orders".__eq__).failure


def test_pages() -> None:
    def page(after: str | None, limit: int = 2) -> dict[str, Any]:
        page = LetterPage(LetterQuery(limit=limit, after=parse_after(after)))
        for partition in (0, 1):
            for offset in (3, 4, 5):
                page.add(letter(offset, partition, stage="S"))
        return page.to_json(99, None, str)

    first = page(None)
    assert (first["pending"], first["matching"], len(first["groups"])) == (6, 6, 1)
    assert first["next"] == "0:5"
    second = page(first["next"])
    assert [(each["partition"], each["offset"]) for each in second["letters"]] == [(0, 5), (1, 3)]
    third = page(second["next"])
    assert [(each["partition"], each["offset"]) for each in third["letters"]] == [(1, 4), (1, 5)]
    assert third["next"] is None
    with pytest.raises(BadRequestError):
        parse_after("0")


def test_letters_and_outcomes_pass_as_json() -> None:
    found = with_headers(("h", b"\xff"), ("n", None))
    assert letter_from_json("c", letter_to_json(found)).record.headers == list(found.record.headers)
    for outcome in (
        Outcome(failure="no"),
        Outcome(),
        Outcome((OutgoingRecord("t", None, None, b"\x00", [("h", None)], 5),)),
    ):
        assert outcome_from_json(outcome_to_json(outcome)) == outcome
