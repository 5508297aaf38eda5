# SPDX-License-Identifier: Apache-2.0
"""``connect-worker-rebalance-metrics`` and ``connect-coordinator-metrics``: a worker in its group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from headrace.metrics.connect_metric import ConnectMetric, Reading, by_name, metrics_of
from headrace.metrics.figures import GroupFigures

_GROUP: Final = "connect-worker-rebalance-metrics"
_LEADER: Final = ConnectMetric(_GROUP, "leader-name", "The group's leader, by its URL.", text=True)
_PROTOCOL: Final = ConnectMetric(_GROUP, "connect-protocol", "The group's protocol.", text=True)
_ABOUT: Final = ConnectMetric(
    _GROUP, "info", "The group's leader and protocol.", ("leader-name", "connect-protocol"), is_info=True
)
_NUMBERS: Final = by_name(
    metrics_of(
        _GROUP,
        (),
        {
            "epoch": "The generation of the group.",
            "completed-rebalances-total": "Rebalances that this worker has been part of.",
            "rebalancing": "1 while this worker rebalances, from its request to join until it has its assignment.",
            "rebalance-max-time-ms": "The longest time of a rebalance.",
            "rebalance-avg-time-ms": "The average time of a rebalance.",
            "time-since-last-rebalance-ms": "The time since the last rebalance.",
        },
    )
)
_ASSIGNED: Final = by_name(
    metrics_of(
        "connect-coordinator-metrics",
        (),
        {
            "assigned-connectors": "Connectors that the group has assigned to this worker.",
            "assigned-tasks": "Tasks that the group has assigned to this worker.",
        },
    )
)
METRICS: Final[tuple[ConnectMetric, ...]] = (_LEADER, _PROTOCOL, _ABOUT, *_NUMBERS.values(), *_ASSIGNED.values())


def readings(group: GroupFigures) -> Iterator[Reading]:
    """Return the groups' values; those of rebalances only after the first one."""
    leader = group.leader_name or ""
    yield Reading(_LEADER, (leader,), 1)
    yield Reading(_PROTOCOL, (group.protocol,), 1)
    yield Reading(_ABOUT, (leader, group.protocol), 1)
    values = {
        "epoch": group.epoch,
        "completed-rebalances-total": group.completed_rebalances,
        "rebalancing": int(group.rebalancing),
        "rebalance-max-time-ms": group.rebalance_max_ms,
        "rebalance-avg-time-ms": group.rebalance_avg_ms,
        "time-since-last-rebalance-ms": group.since_last_rebalance_ms,
    }
    for name, value in values.items():
        if value is not None:
            yield Reading(_NUMBERS[name], (), value)
    yield Reading(_ASSIGNED["assigned-connectors"], (), group.assigned_connectors)
    yield Reading(_ASSIGNED["assigned-tasks"], (), group.assigned_tasks)
