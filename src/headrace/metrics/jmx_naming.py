# SPDX-License-Identifier: Apache-2.0
"""The names that rules of the JMX exporter make of Kafka Connect's metrics for Prometheus."""

from __future__ import annotations

from typing import Final, Protocol

from headrace.metrics.connect_metric import CLIENT_ID, ConnectMetric


class Naming(Protocol):
    """Makes Prometheus' names of Kafka Connect's."""

    def name(self, metric: ConnectMetric) -> str | None:
        """Return the metric's name; None if it is left out."""

    def label(self, label: str) -> str: ...


class StrimziNaming:
    """The names that the example rules of the JMX exporter, and Strimzi's, make. A ``Naming``.

    ``kafka.connect:type=source-task-metrics`` with its attribute ``source-record-poll-total`` is
    ``kafka_connect_source_task_source_record_poll_total``. Source: Strimzi's
    ``examples/metrics/kafka-connect-metrics.yaml``.
    """

    def name(self, metric: ConnectMetric) -> str:
        """Return the name, which has the domain once: ``connect-worker-metrics`` is ``kafka_connect_worker``."""
        group = metric.group.removesuffix("-metrics").removeprefix(f"{metric.domain}-")
        parts = (metric.domain, metric.name) if group == metric.domain else (metric.domain, group, metric.name)
        return "_".join(("kafka", *parts)).replace("-", "_")

    def label(self, label: str) -> str:
        return "clientId" if label == CLIENT_ID else label.replace("-", "_")


class ConfluentNaming:
    """The names that Confluent's rules of the JMX exporter, and Aiven's, make. A ``Naming``.

    The same attribute is ``kafka_connect_source_task_metrics_source_record_poll_total``. Source: Confluent's
    jmx-monitoring-stacks, ``shared-assets/jmx-exporter/kafka_connect.yml``, and Aiven's list of metrics that
    Prometheus reads.
    """

    def name(self, metric: ConnectMetric) -> str | None:
        """Return the name; all texts of a connector are one metric, with a label of the attribute's name each.

        There is none that has the same texts together.
        """
        if metric.is_info:
            return None
        name = "" if metric.text and metric.group == "connector-metrics" else f"_{metric.name}"
        return f"kafka_{metric.domain}_{metric.group}{name}".replace("-", "_")

    def label(self, label: str) -> str:
        return label.replace("-", "_")


STRIMZI: Final = (StrimziNaming(),)
NAMINGS: Final[dict[str, tuple[Naming, ...]]] = {
    "strimzi": STRIMZI,
    "confluent": (ConfluentNaming(),),
    "both": (*STRIMZI, ConfluentNaming()),
}
"""By the values of ``metrics.naming``."""
