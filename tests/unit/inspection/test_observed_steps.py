# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from headrace.api.record import SourceRecord
from headrace.config.connector_config import ConnectorConfig, ErrorHandling
from headrace.inspection.preview.observed_steps import Steps, create_observed_stages
from headrace.inspection.preview.previewed_task import record_json
from headrace.plugins.discovery import Plugins
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance, ToleranceExceededError
from headrace.task.task_metrics import TaskMetrics

STEPS = {
    "one": {"type": "InsertField$Value", "static.field": "a", "static.value": "1", "predicate": "here"},
    "two": {"type": "InsertField$Value", "static.field": "b", "static.value": "2", "predicate": "here", "negate": "1"},
    "three": {"type": "RegexRouter", "regex": "none", "replacement": "other"},
    "header": {"type": "InsertHeader", "header": "h", "value.literal": "x"},
    "drop": {"type": "Filter"},
    "fail": {"type": "Cast$Value", "spec": "int32"},
}


def steps_of(*names: str, value: Any = None) -> tuple[list[dict[str, Any]], Any]:
    """The steps of a record, and what the chain returns for it; None for one that fails the task."""
    config = {"name": "c", "connector.class": "C", "transforms": ",".join(names), "predicates": "here"}
    config |= {"predicates.here.type": "TopicNameMatches", "predicates.here.pattern": "here"}
    for name in names:
        config |= {f"transforms.{name}.{key}": text for key, text in STEPS[name].items()}
    config = {key: "true" if key.endswith("negate") else text for key, text in config.items()}
    steps, metrics = Steps(), TaskMetrics(lambda values: None, lambda: 0.0)
    errors: RetryWithTolerance[SourceRecord] = RetryWithTolerance(ErrorHandling(), [], metrics, lambda seconds: False)
    parsed = ConnectorConfig(config)
    chain = create_observed_stages(parsed.transforms, parsed, Plugins(), errors, steps, record_json)
    record = SourceRecord({}, {}, "here", value={"n": 0} if value is None else value)
    try:
        (result,) = chain.apply_all([record], [record])
    except ToleranceExceededError:
        result = None
    return steps.take(), result


def test_what_each_step_does() -> None:
    steps, result = steps_of("one", "two", "three", "header")
    assert [step["outcome"] for step in steps] == ["changed", "skipped", "unchanged", "changed"]
    assert steps[0]["predicate"] == {"predicate": "here", "result": True, "negate": False}
    assert steps[1]["predicate"] == {"predicate": "here", "result": True, "negate": True}
    assert steps[0]["after"]["value"]["value"] == {"n": 0, "a": "1"}
    assert [header["key"] for header in steps[3]["after"]["headers"]] == ["h"]
    assert result.value == {"n": 0, "a": "1"}


def test_nothing_follows_a_step_that_drops_or_fails() -> None:
    steps, result = steps_of("one", "drop", "header")
    assert [step["outcome"] for step in steps] == ["changed", "dropped"] and result is None
    steps, result = steps_of("fail", "header", value="no number")
    assert [step["outcome"] for step in steps] == ["failed"] and result is None


@pytest.mark.parametrize("name", ["one", "header"])
def test_a_batch_shows_each_record_once(name: str) -> None:
    assert len(steps_of(name)[0]) == 1
