# SPDX-License-Identifier: Apache-2.0
"""Answers and their schemas are made from the same dataclasses, by the same rules."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.model.ids import ConnectorTaskId
from headrace.model.info import ConnectorInfo, ConnectorState, PluginInfo, SparkAttempt, TaskState
from headrace.rest.entities import to_json
from headrace.rest.schema_parts import Schema, derived

TASK = ConnectorTaskId("c", 1)


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        (TASK, [("connector", "c"), ("task", 1)]),
        (
            ConnectorInfo("c", {"a": None}, (TASK,), "sink"),
            [("name", "c"), ("config", {"a": None}), ("tasks", [{"connector": "c", "task": 1}]), ("type", "sink")],
        ),
        (ConnectorState("RUNNING", None), [("state", "RUNNING"), ("worker_id", None)]),
        (
            TaskState(0, "FAILED", "w", "trace", "1"),
            [("id", 0), ("state", "FAILED"), ("worker_id", "w"), ("trace", "trace"), ("version", "1")],
        ),
        (PluginInfo("a.B", "source"), [("class", "a.B"), ("type", "source")]),
        (
            PluginInfo("a.B", "source", "1", "broken"),
            [("class", "a.B"), ("type", "source"), ("version", "1"), ("error", "broken")],
        ),
    ],
)
def test_an_answer_has_the_fields_in_order_and_no_optional_null(value: Any, answer: list[tuple[str, Any]]) -> None:
    assert list(to_json(value).items()) == answer
    schema = derived(type(value))
    assert set(schema["required"]) <= dict(answer).keys() <= schema["properties"].keys()


def test_sequences_are_arrays() -> None:
    assert to_json((TASK, TASK)) == [{"connector": "c", "task": 1}] * 2
    assert to_json([]) == []
    assert to_json(None) is None


def test_a_schema_says_what_may_be_null_and_what_may_be_absent() -> None:
    text: Schema = {"type": "string"}
    state = derived(TaskState, state={"enum": ["RUNNING"]})
    assert state == {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "state": {"enum": ["RUNNING"]},
            "worker_id": {"type": ["string", "null"]},
            "trace": text,
            "version": text,
        },
        "required": ["id", "state", "worker_id"],
        "additionalProperties": False,
    }
    assert derived(PluginInfo)["required"] == ["class", "type"]
    assert derived(SparkAttempt)["properties"]["job_id"] == {"type": ["integer", "null"]}
