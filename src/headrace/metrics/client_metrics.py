# SPDX-License-Identifier: Apache-2.0
"""Metrics of the Kafka clients of tasks, by the names of Java's clients."""

from __future__ import annotations

from typing import Final

from headrace.metrics.connect_metric import CLIENT_ID, ConnectMetric, Reading, metrics_of, untagged
from headrace.model.ids import ConnectorTaskId

PRODUCER: Final = "producer-metrics"
CONSUMER: Final = "consumer-metrics"
FETCHES: Final = "consumer-fetch-manager-metrics"
COORDINATOR: Final = "consumer-coordinator-metrics"
_OF_CLIENT: Final = (CLIENT_ID, "connector", "task")
_CONNECTIONS: Final = {
    "connection-count": "Brokers that the client is connected to.",
    "outgoing-byte-total": "Bytes that the client has sent.",
    "incoming-byte-total": "Bytes that the client has received.",
    "request-total": "Requests that the client has sent.",
    "response-total": "Responses that the client has received.",
}
METRICS: Final[tuple[ConnectMetric, ...]] = (
    *metrics_of(
        PRODUCER,
        _OF_CLIENT,
        {
            **_CONNECTIONS,
            "record-send-total": "Records that were sent to brokers, source offsets included.",
            "byte-total": "Bytes of these records.",
            "record-retry-total": "Requests that were sent again.",
            "request-latency-avg": "The average time of a request, in milliseconds.",
            "request-latency-max": "The longest time of a request, in milliseconds.",
            "record-queue-time-avg": "The average time that a batch waits in the client, in milliseconds.",
            "record-queue-time-max": "The longest time that a batch waits in the client, in milliseconds.",
            "batch-size-avg": "The average size of a batch, in bytes.",
            "batch-size-max": "The greatest size of a batch, in bytes.",
        },
    ),
    *metrics_of(CONSUMER, _OF_CLIENT, _CONNECTIONS),
    *metrics_of(
        FETCHES,
        _OF_CLIENT,
        {
            "records-consumed-total": "Records that the client has fetched.",
            "bytes-consumed-total": "Bytes of these records.",
            "fetch-latency-avg": "The average time of a request, in milliseconds.",
            "fetch-latency-max": "The longest time of a request, in milliseconds.",
            "records-lag-max": "The greatest number of records that the client is behind in a partition.",
        },
    ),
    *metrics_of(
        FETCHES,
        (*_OF_CLIENT, "topic", "partition"),
        {"records-lag": "Records that the client is behind the end of a partition."},
    ),
    *metrics_of(
        COORDINATOR,
        _OF_CLIENT,
        {
            "assigned-partitions": "Topic partitions that are assigned to the client.",
            "rebalance-total": "Rebalances of the consumer group that the client has taken part in.",
        },
    ),
)
_BY_GROUP_AND_NAME: Final = {(metric.group, metric.name): metric for metric in METRICS}


def reading(id: ConnectorTaskId, name: str, value: float) -> Reading | None:
    """Return the value of one of a task's figures with a ``tagged`` name; None if no metric of clients has it."""
    parts = untagged(name)
    metric = _BY_GROUP_AND_NAME.get(parts[:2]) if parts is not None else None
    if metric is None or parts is None:
        return None
    values = {**parts[2], "connector": id.connector, "task": str(id.task)}
    return Reading(metric, [values.get(label, "") for label in metric.labels], value)
