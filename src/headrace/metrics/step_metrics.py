# SPDX-License-Identifier: Apache-2.0
"""``task-step-metrics``: what each step of a task's data path has done with its records. Not in Java."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from headrace.metrics.connect_metric import ConnectMetric, Reading, metrics_of
from headrace.model.ids import ConnectorTaskId
from headrace.model.step_counts import StepCounts

_OF: Final = ("connector", "task", "step", "transform")
"""``step`` is the kind of a step, and ``transform`` the alias of a transformation, else empty."""
_COUNTS: Final[dict[str, tuple[str, Callable[[StepCounts], int | None]]]] = {
    "records-in-total": ("Records that came to the step.", lambda step: step.records_in),
    "records-out-total": ("Records that left the step.", lambda step: step.records_out),
    "records-filtered-total": ("Records that a transformation dropped.", lambda step: step.filtered),
    "errors-total": ("Records that failed in the step for good, and failures that ended an attempt.",
                     lambda step: step.errors),
    "retries-total": ("Operations of the step that were tried again.", lambda step: step.retries),
}  # fmt: skip
METRICS: Final[tuple[ConnectMetric, ...]] = metrics_of(
    "task-step-metrics", _OF, {name: doc for name, (doc, _) in _COUNTS.items()}
)


def readings(id: ConnectorTaskId, steps: Sequence[StepCounts]) -> Iterator[Reading]:
    """Return the counts of a task's steps since the start of its attempt, without those that a step does not have."""
    for step in steps:
        labels = (id.connector, str(id.task), step.kind.value, step.alias or "")
        for metric in METRICS:
            count = _COUNTS[metric.name][1](step)
            if count is not None:
                yield Reading(metric, labels, count)
