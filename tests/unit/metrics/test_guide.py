# SPDX-License-Identifier: Apache-2.0
"""The guide's tables of metrics are what a worker exports, under both families' names."""

from __future__ import annotations

import re
from pathlib import Path

from headrace.metrics.exposition import METRICS
from headrace.metrics.jmx_naming import ConfluentNaming, StrimziNaming

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "metrics.md"
ROW = re.compile(r"(?m)^\| `(\S+)`(?: \(headrace\))? \| `(\S+)` \| (?:`(\S+)`|—) \| .+ \| .+ \|$")
STRIMZI, CONFLUENT = StrimziNaming(), ConfluentNaming()


def rows() -> list[tuple[str, str, str, str | None]]:
    """Group, Kafka Connect's name, Strimzi's and Confluent's of each row of the tables."""
    found = []
    for section in re.split(r"(?m)^### ", GUIDE.read_text())[1:]:
        group = re.match(r"`([\w-]+)`", section)
        assert group is not None
        for row in re.findall(
            r"(?m)^\| `(\S+)`(?: \(headrace\))? \| `(\S+)` \| (?:`(\S+)`|—) \| .+ \| .+ \|$", section
        ):
            found.append((group[1], row[0], row[1], row[2] or None))
    return found


def test_all_metrics_are_in_the_tables_and_nothing_else() -> None:
    defined = [(each.group, each.name, STRIMZI.name(each), CONFLUENT.name(each)) for each in METRICS]
    assert rows() == defined


def test_all_of_kafka_connects_metrics_of_tasks_and_workers_are_there() -> None:
    """Source: Kafka's ``ConnectMetricsRegistry``, and ``assigned-*`` of ``WorkerCoordinator``."""
    states = ("total", "running", "paused", "failed", "unassigned", "destroyed", "restarting")
    startups = ("attempts-total", "success-total", "success-percentage", "failure-total", "failure-percentage")
    batch = ("max-time-ms", "avg-time-ms")
    active = ("active-count", "active-count-max", "active-count-avg")
    expected = {
        "connector-metrics": {"status", "connector-type", "connector-class", "connector-version"},
        "connector-task-metrics": {
            *("status", "running-ratio", "pause-ratio", "batch-size-max", "batch-size-avg"),
            *(f"offset-commit-{name}" for name in (*batch, "failure-percentage", "success-percentage")),
        },
        "source-task-metrics": {
            *(f"source-record-{what}-{kind}" for what in ("poll", "write") for kind in ("rate", "total")),
            *(f"source-record-{name}" for name in active),
            *(f"poll-batch-{name}" for name in batch),
            *(f"transaction-size-{name}" for name in ("min", "max", "avg")),
        },
        "sink-task-metrics": {
            *(f"sink-record-{what}-{kind}" for what in ("read", "send") for kind in ("rate", "total")),
            *(f"sink-record-{name}" for name in (*active, "lag-max")),
            *(f"put-batch-{name}" for name in batch),
            *(f"offset-commit-{what}-{kind}" for what in ("completion", "skip") for kind in ("rate", "total")),
            *("partition-count", "offset-commit-seq-no"),
        },
        "connect-worker-metrics": {
            *("connector-count", "task-count"),
            *(f"{what}-startup-{name}" for what in ("connector", "task") for name in startups),
            *(f"connector-{state}-task-count" for state in states),
        },
        "connect-worker-rebalance-metrics": {
            *("connect-protocol", "leader-name", "epoch", "completed-rebalances-total", "rebalancing"),
            *("rebalance-max-time-ms", "rebalance-avg-time-ms", "time-since-last-rebalance-ms"),
        },
        "task-error-metrics": {
            *("total-record-failures", "total-record-errors", "total-records-skipped", "total-retries"),
            *("total-errors-logged", "last-error-timestamp"),
            *("deadletterqueue-produce-requests", "deadletterqueue-produce-failures"),
        },
        "connect-coordinator-metrics": {"assigned-connectors", "assigned-tasks"},
    }
    there = {(each.group, each.name) for each in METRICS}
    assert {(group, name) for group, names in expected.items() for name in names} - there == set()
