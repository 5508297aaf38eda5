# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

from headrace.cli.ctl.preview_text import differences, preview_lines


def part(value: Any, schema: Any = None, **more: Any) -> dict[str, Any]:
    return {"bytes": None, "schema": schema, "value": value, **more}


def record(value: Any, topic: str = "t", **more: Any) -> dict[str, Any]:
    between = {"topic": topic, "partition": None, "timestamp": None, "key": part(None), "headers": []}
    return {**between, "value": value if isinstance(value, dict) and "bytes" in value else part(value), **more}


def lines(**more: Any) -> list[str]:
    polled = {"polled": record({"a": 1}), "sourcePartition": None, "sourceOffset": {"n": 1}, "steps": []}
    shown = {"outcome": "written", "result": None, **polled, **more}
    preview = {"task": 0, "tasks": 1, "records": [shown], "end": "records", "error": None, "notes": []}
    return [line.text for line in preview_lines(preview)]


def test_differences() -> None:
    header = {"key": "h", "value": part("x")}
    after = record({"a": 2, "c": {"d": 3}}, "u", headers=[header])
    assert [line.text for line in differences(record({"a": 1, "b": 5}), after)] == [
        "    - value.b: 5",
        '    ~ topic: "t" → "u"',
        "    ~ value.a: 1 → 2",
        "    + value.c.d: 3",
        '    + header h: "x"',
    ]


def test_a_schema_is_shown_in_short() -> None:
    fields = [{"field": "a", "type": "int32"}, {"field": "b", "type": "int64", "name": "T"}]
    after = record(part({"a": 1}, {"type": "struct", "fields": fields}))
    assert '    ~ value\'s schema: null → "struct(a int32, b T)"' in [
        line.text for line in differences(record({"a": 1}), after)
    ]


def test_steps_with_predicates_and_what_is_not_written() -> None:
    tested = {"predicate": "p", "result": False, "negate": False}
    steps = [
        {"transform": "x", "class": "a.B$Value", "outcome": "skipped", "predicate": tested},
        {"transform": "y", "class": "a.C", "outcome": "dropped"},
    ]
    found = lines(steps=steps, outcome="dropped")
    assert found[2:5] == [
        "  x (B$Value): skipped, predicate p is false",
        "  y (C): dropped",
        "  Nothing would be written",
    ]


def test_a_step_that_is_not_previewed() -> None:
    steps = [{"transform": "sql", "class": "a.SparkSql", "outcome": "not previewed", "message": "it runs on Spark"}]
    assert lines(steps=steps, outcome="not previewed")[2:4] == [
        "  sql (SparkSql): it runs on Spark",
        "  What would be written is not known",
    ]


def test_dead_letters_and_truncated_values() -> None:
    error = {"stage": "VALUE_CONVERTER", "error": "DataError", "message": "bad", "hint": "do it"}
    letter = lines(outcome="dead letter", error={**error, "transform": None, "deadLetterTopic": "letters"})
    assert letter[2] == "  The record would go to the dead letter topic letters: VALUE_CONVERTER: DataError: bad"
    assert letter[3] == "  Hint: do it"
    written = lines(result=record({**part("long", truncated=True), "bytes": "AAAA"}))
    assert written[2].endswith('value of 3 bytes: "long" (truncated)')


def test_a_consumed_record() -> None:
    consumed = record("v", partition=2, offset=7)
    found = lines(consumed=consumed, polled=None, outcome="put", result=record("w"))
    assert found[0] == "Record 1: t-2, offset 7" and found[1] == '  consumed: topic t, value "v"'
    assert found[2] == '  Would be put: topic t, value "w"'


def test_a_step_on_spark_that_makes_several_records() -> None:
    of_two = [{"transform": "cast", "class": "a.Cast", "outcome": "changed", "row": n} for n in (1, 2)]
    steps = [
        {"transform": "sql", "class": "a.SparkSql", "outcome": "changed", "rows": [record({"b": 1}), record({"b": 2})]},
        {**of_two[0], "after": record({"b": "1"})},
        {**of_two[1], "after": record({"b": "2"})},
        {"transform": "one", "class": "a.SparkSql", "outcome": "changed", "after": record({"b": "3"})},
    ]
    results = [record(n, partition=None) for n in ("x", "y")]
    assert lines(steps=steps, result=results[0], results=results)[2:-1] == [
        "  sql (SparkSql): changed",
        '    row 1: topic t, value {"b": 1}',
        '    row 2: topic t, value {"b": 2}',
        "  cast (Cast, row 1): changed",
        '    ~ value.b: 1 → "1"',
        "  cast (Cast, row 2): changed",
        '    ~ value.b: 2 → "2"',
        "  one (SparkSql): changed",
        '    ~ value.b: "1" → "3"',
        '  Would be written to topic t, a partition of the producer\'s choice: value of null: "x"',
        '  Would be written to topic t, a partition of the producer\'s choice: value of null: "y"',
    ]


def test_plans_follow_the_records() -> None:
    preview = {"task": 0, "tasks": 1, "records": [], "end": "records", "error": None, "notes": []}
    plans = [{"transform": "sql", "class": "a.SparkSql", "plan": "== Physical Plan ==\nProject (2)\n\n(1) Scan\n"}]
    found = [line.text for line in preview_lines({**preview, "plans": plans})]
    assert found[:-1] == ["Plan of sql (SparkSql)", "  == Physical Plan ==", "  Project (2)", "", "  (1) Scan"]
