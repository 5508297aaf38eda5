# SPDX-License-Identifier: Apache-2.0
"""The groups of a task, such as ``source-task-metrics``, ``task-error-metrics`` and ``task-step-metrics``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from headrace.metrics import client_metrics, plugin_metrics
from headrace.metrics.connect_metric import ConnectMetric, Reading, by_name, metrics_of
from headrace.metrics.figures import TASK_WAITING, WorkerFigures
from headrace.model.ids import ConnectorTaskId
from headrace.model.step_counts import StepCounts

_OF: Final = ("connector", "task")
_STATUS: Final = ConnectMetric("connector-task-metrics", "status", "1 for the state that a task is in.", _OF, text=True)
_RUN: Final = metrics_of(
    "connector-task-metrics",
    _OF,
    {
        "running-ratio": "The part of its time here that a task runs.",
        "pause-ratio": "The part of its time here that a task is paused.",
    },
)
_COUNTED: Final = (
    *metrics_of(
        "connector-task-metrics",
        _OF,
        {
            "batch-size-avg": "The average number of records in a poll, or a sink's batch, that had some.",
            "batch-size-max": "The greatest number of records in a poll or a sink's batch.",
            "offset-commit-avg-time-ms": "The average time of a commit of offsets, or of a transaction.",
            "offset-commit-max-time-ms": "The longest time of a commit of offsets, or of a transaction.",
            "offset-commit-success-percentage": "The part, up to 1, of the commits that succeeded.",
            "offset-commit-failure-percentage": "The part, up to 1, of the commits that failed.",
            "offset-commit-failure-total": "Commits of offsets that failed.",
            TASK_WAITING: "1 while Spark has no cores for the task's process, or is not running.",
            "task-restarts-total": "Attempts of the task that ended without failing and were followed by another.",
            "auto-restarts-total": "Automatic restarts of the task, after failures, on this worker.",
            "auto-restart-attempts": "Automatic restarts of the task in a row, by any worker.",
            "task-fencings-total": "Attempts that ended because their producer was fenced.",
            "task-taints-total": "Attempts that ended because it was uncertain what became of a transaction.",
        },
    ),
    *metrics_of(
        "source-task-metrics",
        _OF,
        {
            "source-record-poll-total": "Records that the task has polled.",
            "source-record-poll-rate": "Records that the task polls per second, over 30 s.",
            "source-record-write-total": "Records that the task has written, after transformations.",
            "source-record-write-rate": "Records that the task writes per second, over 30 s.",
            "poll-batch-avg-time-ms": "The average time of a poll that had records.",
            "poll-batch-max-time-ms": "The longest time of a poll that had records.",
            "source-record-active-count": "Records that were polled and are not delivered, or committed, yet.",
            "source-record-active-count-avg": "The average of source-record-active-count.",
            "source-record-active-count-max": "The greatest source-record-active-count.",
            "transaction-size-avg": "The average number of records in a transaction.",
            "transaction-size-min": "The least number of records in a transaction.",
            "transaction-size-max": "The greatest number of records in a transaction.",
            "transactions-committed-total": "Transactions that the task has committed.",
            "transactions-aborted-total": "Transactions that the task has aborted as its connector wanted.",
            "global-offset-copy-pending": "Source partitions whose offsets are not in the workers' topic yet.",
            "global-offset-copy-lag-ms": "The age of the oldest offset that is not in the workers' topic yet.",
        },
    ),
    *metrics_of(
        "sink-task-metrics",
        _OF,
        {
            "sink-record-read-total": "Records that the task has read.",
            "sink-record-read-rate": "Records that the task reads per second, over 30 s.",
            "sink-record-send-total": "Records that were put, after transformations.",
            "sink-record-send-rate": "Records that are put per second, over 30 s.",
            "sink-record-lag-max": "The greatest number of records that the task is behind in a partition.",
            "partition-count": "Topic partitions that are assigned to the task.",
            "offset-commit-seq-no": "The number of the task's newest commit of offsets.",
            "offset-commit-completion-total": "Commits of offsets that went well.",
            "offset-commit-completion-rate": "Commits of offsets that go well per second, over 30 s.",
            "offset-commit-skip-total": "Commits of offsets that came too late to count.",
            "offset-commit-skip-rate": "Commits of offsets that come too late to count per second, over 30 s.",
            "put-batch-avg-time-ms": "The average time of a put.",
            "put-batch-max-time-ms": "The longest time of a put.",
            "sink-record-active-count": "Records that were put and whose offsets are not committed yet.",
            "sink-record-active-count-avg": "The average of sink-record-active-count.",
            "sink-record-active-count-max": "The greatest sink-record-active-count.",
        },
    ),
    *metrics_of(
        "task-error-metrics",
        _OF,
        {
            "total-record-failures": "Operations on records that failed, each attempt counted.",
            "total-record-errors": "Records that could not be processed.",
            "total-records-skipped": "Records that were skipped because of errors.",
            "total-retries": "Operations that were tried again.",
            "total-errors-logged": "Errors that were logged.",
            "deadletterqueue-produce-requests": "Records that were given to the dead letter topic.",
            "deadletterqueue-produce-failures": "Dead letters that could not be written.",
            "last-error-timestamp": "When the task last met an error, in milliseconds since the epoch.",
        },
    ),
)
_BY_NAME: Final = by_name(_COUNTED)
_STEP_COUNTS: Final[dict[str, tuple[str, Callable[[StepCounts], int | None]]]] = {
    "records-in-total": ("Records that came to the step.", lambda step: step.records_in),
    "records-out-total": ("Records that left the step.", lambda step: step.records_out),
    "records-filtered-total": ("Records that a transformation dropped.", lambda step: step.filtered),
    "errors-total": ("Records that failed in the step for good, and failures that ended an attempt.",
                     lambda step: step.errors),
    "retries-total": ("Operations of the step that were tried again.", lambda step: step.retries),
}  # fmt: skip
_STEPS: Final = metrics_of(
    "task-step-metrics",
    (*_OF, "step", "transform"),
    {name: doc for name, (doc, _) in _STEP_COUNTS.items()},
)
"""Not in Java. ``step`` is the kind of a step, and ``transform`` the alias of a transformation, else empty."""
METRICS: Final[tuple[ConnectMetric, ...]] = (_STATUS, *_RUN, *_COUNTED, *_STEPS, *client_metrics.METRICS)


def _of_clients_and_plugins(id: ConnectorTaskId, name: str, value: float) -> Reading | None:
    return client_metrics.reading(id, name, value) or plugin_metrics.reading(id, name, value)


def _of_steps(id: ConnectorTaskId, steps: Sequence[StepCounts]) -> Iterator[Reading]:
    """Return the counts since the start of the attempt, without those that a step does not have."""
    for step in steps:
        labels = (id.connector, str(id.task), step.kind.value, step.alias or "")
        for metric in _STEPS:
            count = _STEP_COUNTS[metric.name][1](step)
            if count is not None:
                yield Reading(metric, labels, count)


def readings(figures: WorkerFigures) -> Iterator[Reading]:
    """Return the groups' values, and those of steps, clients and plugins. Figures of unknown names are left out."""
    running, paused = _RUN
    for id, task in sorted(figures.tasks.items()):
        own = (id.connector, str(id.task))
        yield Reading(_STATUS, (*own, task.run.state), 1)
        yield Reading(running, own, task.run.running_ratio)
        yield Reading(paused, own, task.run.pause_ratio)
        yield from _of_steps(id, task.steps)
        for name, value in task.values.items():
            metric = _BY_NAME.get(name)
            if metric is not None:
                yield Reading(metric, own, value)
            else:
                reading = _of_clients_and_plugins(id, name, value)
                if reading is not None:
                    yield reading
