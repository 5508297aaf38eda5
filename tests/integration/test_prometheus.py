# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus over a real worker: the names, the dashboards' queries, headrace's and others', and the alerts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.metrics.exposition import METRICS
from headrace.metrics.jmx_naming import ConfluentNaming, StrimziNaming
from tests.integration.prometheus import Prometheus, promtool
from tests.support.polling import wait_for
from tests.support.sinks import create_sink, make_topic, numbers, send
from tests.support.worker_process import ROOT, WorkerProcess

OPS = ROOT / "ops"
LABELS = {
    "namespace": "here",
    "strimzi_io_kind": "KafkaConnect",
    "strimzi_io_cluster": "mine",
    "kubernetes_pod_name": "mine-connect-0",
    "env": "test",
    "kafka_connect_cluster_id": "mine",
}
"""What the others' dashboards ask for beside metrics: whoever has them scraped adds it."""
RARE = {
    *("global-offset-copy-pending", "global-offset-copy-lag-ms"),  # of connectors with an offsets topic of their own
    *("record-queue-time-avg", "record-queue-time-max"),
}
"""Metrics that not every worker with a source and a sink has a value of."""


@pytest.fixture(scope="module")
def scraped(
    broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[WorkerProcess, Prometheus]]:
    """A worker with both namings, a source, a sink, and a sink whose task has failed."""
    bootstrap, directory = broker.bootstrap_servers, tmp_path_factory.mktemp("scraped")
    properties = {"metrics.naming": "both", "metrics.clients.interval.ms": "500", "group.id": "headrace-scraped"}
    with WorkerProcess(directory, bootstrap, **properties) as worker:
        make_topic(bootstrap, "scraped-in")
        make_topic(bootstrap, "scraped-bad")
        send(bootstrap, "scraped-in", numbers(0, 500))
        send(bootstrap, "scraped-bad", [b"1", b"{no json"])
        source = {"connector.class": "talking_source:TalkingSourceConnector", "tasks.max": "1", "topic": "scraped-out"}
        routed = {"transforms": "as-is", "transforms.as-is.type": "RegexRouter"}
        routed |= {"transforms.as-is.regex": "no such topic", "transforms.as-is.replacement": "other"}
        worker.create("a-source", **source, **routed)
        create_sink(worker, "a-sink", "scraped-in", directory / "lines")
        json_converter = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "false"}
        create_sink(worker, "a-failure", "scraped-bad", directory / "none", **json_converter)
        worker.wait_for_tasks("a-source")
        worker.wait_for_tasks("a-sink")
        worker.wait_for_tasks("a-failure", "FAILED")
        with Prometheus(directory, f"127.0.0.1:{worker.port}", LABELS) as prometheus:
            wait_for(lambda: bool(prometheus.query("up == 1")), 30, lambda: prometheus.scrape_error())
            yield worker, prometheus


def wait_for_data(prometheus: Prometheus, queries: set[str]) -> None:
    """Rates need two scrapes, and some figures a commit or a fetch."""
    empty: list[str] = []

    def all_answered() -> bool:
        empty[:] = [query for query in sorted(queries) if not prometheus.query(query)]
        return not empty

    assert queries
    wait_for(all_answered, 60, lambda: "no data for\n" + "\n".join(empty))


def expressions(dashboard: Any) -> set[str]:
    """The queries of all panels and variables, for all connectors, as Grafana sends them."""
    asked = {target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())}
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            asked.add(re.sub(r"label_values\((.+), (\w+)\)", r"count by (\2) (\1)", variable["definition"]))
    values = {"$job": "headrace", "$connector": ".*", "$__rate_interval": "10s"}
    return {re.sub(r"\$\w+", lambda name: values[name[0]], expression) for expression in asked}


@pytest.mark.parametrize("dashboard", sorted(OPS.glob("grafana/*.json")), ids=lambda file: file.stem)
def test_every_query_of_our_dashboards_has_data(scraped: tuple[WorkerProcess, Prometheus], dashboard: Path) -> None:
    wait_for_data(scraped[1], expressions(json.loads(dashboard.read_text())))


_STRIMZI = 'strimzi_io_kind=~"KafkaConnect.*",strimzi_io_cluster="mine"'
STRIMZIS = {
    *(
        f"sum({name}{{{_STRIMZI}}})"
        for name in (
            "kafka_connect_worker_connector_count",
            "kafka_connect_worker_task_count",
            "kafka_consumer_connection_count",
            "kafka_producer_connection_count",
            "kafka_connect_worker_rebalance_rebalancing",
            *(
                f"kafka_connect_worker_connector_{state}_task_count"
                for state in ("running", "paused", "failed", "unassigned", "destroyed")
            ),
        )
    ),
    *(
        f'sum(kafka_connect_worker_connector_{state}_task_count{{namespace="here",{_STRIMZI}}}) by (connector)'
        for state in ("paused", "failed", "unassigned", "destroyed")
    ),
    f"sum(rate(kafka_producer_outgoing_byte_total{{{_STRIMZI}}}[5m])) by (kubernetes_pod_name)",
    f"sum(rate(kafka_consumer_incoming_byte_total{{{_STRIMZI}}}[5m])) by (kubernetes_pod_name)",
    f"sum(kafka_connect_coordinator_assigned_connectors{{{_STRIMZI}}}) by (kubernetes_pod_name)",
    f"sum(kafka_connect_coordinator_assigned_tasks{{{_STRIMZI}}}) by (kubernetes_pod_name)",
    f"sum(kafka_connect_connector_status{{{_STRIMZI}}} * on(connector) group_left(connector_class) "
    "kafka_connect_connector_connector_class{} * on (connector) group_left(connector_version) "
    "kafka_connect_connector_connector_version{} * on (connector) group_left(connector_type) "
    "kafka_connect_connector_connector_type{}) "
    "by (connector, status, connector_class, kubernetes_pod_name, connector_version, connector_type)",
    f"sum(kafka_connect_task_error_total_record_failures{{{_STRIMZI}}} * on(connector, task) group_left(status) "
    "kafka_connect_connector_task_status{}) by (connector, status, kubernetes_pod_name, task)",
    'sum(kafka_connect_connector_status{status="running"}) by (namespace, pod) > 0',
    "sum(kafka_connect_worker_connector_failed_task_count) by (namespace, pod) > 0",
}
"""The queries of Strimzi's dashboard and rules for Kafka Connect, its variables filled in.

Source: strimzi/strimzi-kafka-operator (Apache 2.0), ``examples/metrics/grafana-dashboards/strimzi-kafka-connect.json``
and ``prometheus-kafka-connect-rules.yaml``, August 2026. The table of tasks with issues asks for counts that are not 0,
and the rule of connectors for failed ones. Left out are container_*, of Kubernetes, jvm_*, and
kafka_admin_client_connection_count: the guide says why.
"""


def test_the_queries_of_strimzis_dashboard_have_data(scraped: tuple[WorkerProcess, Prometheus]) -> None:
    wait_for_data(scraped[1], STRIMZIS)


_CONFLUENT = 'job="headrace",env="test",instance=~".*",kafka_connect_cluster_id=~"mine"'
CONFLUENTS = {
    *(
        f"sum by (instance) (kafka_connect_connect_worker_metrics_{name}{{{_CONFLUENT}}})"
        for name in (
            *("connector_count", "connector_startup_failure_total", "connector_startup_success_total"),
            *("task_count", "task_startup_failure_total", "task_startup_success_total"),
        )
    ),
    *(
        f"sum by (connector) (kafka_connect_connect_worker_metrics_connector_{state}_task_count{{{_CONFLUENT}}})"
        for state in ("destroyed", "failed", "paused", "running", "total", "unassigned")
    ),
    *(
        f'kafka_connect_connector_metrics{{{_CONFLUENT},connector=~".*",{label}!=""}}'
        for label in ("status", "connector_class", "connector_type", "connector_version")
    ),
    *(
        f'kafka_connect_{name}{{{_CONFLUENT},connector=~".*",task!=""}}'
        for name in (
            *(f"connector_task_metrics_{each}" for each in ("batch_size_avg", "batch_size_max", "running_ratio")),
            *("connector_task_metrics_offset_commit_avg_time_ms", "connector_task_metrics_pause_ratio"),
            "connector_task_metrics_offset_commit_success_percentage",
            *("sink_task_metrics_offset_commit_completion_rate", "sink_task_metrics_offset_commit_skip_rate"),
            *("sink_task_metrics_partition_count", "sink_task_metrics_put_batch_avg_time_ms"),
            *("sink_task_metrics_put_batch_max_time_ms", "sink_task_metrics_sink_record_active_count_avg"),
            *("sink_task_metrics_sink_record_active_count_max", "sink_task_metrics_sink_record_read_rate"),
            *("sink_task_metrics_sink_record_send_rate", "source_task_metrics_poll_batch_avg_time_ms"),
            *("source_task_metrics_poll_batch_max_time_ms", "source_task_metrics_source_record_active_count_avg"),
            *("source_task_metrics_source_record_active_count_max", "source_task_metrics_source_record_poll_rate"),
            "source_task_metrics_source_record_write_rate",
            *(f"task_error_metrics_deadletterqueue_produce_{each}" for each in ("failures", "requests")),
            *(f"task_error_metrics_total_{each}" for each in ("errors_logged", "record_errors", "record_failures")),
            *(f"task_error_metrics_total_{each}" for each in ("records_skipped", "retries")),
        )
    ),
    *(
        f"kafka_connect_connect_worker_rebalance_metrics_{name}{{{_CONFLUENT}}} >= 0"
        for name in ("completed_rebalances_total", "rebalance_avg_time_ms", "time_since_last_rebalance_ms")
    ),
    f"rate(process_cpu_seconds_total{{{_CONFLUENT}}}[5m])",
    "sum(kafka_connect_connect_worker_metrics_connector_failed_task_count) > 0",
}
"""The queries of Confluent's dashboard and alert for Kafka Connect, its variables filled in.

Source: confluentinc/jmx-monitoring-stacks (Apache 2.0), ``jmxexporter-prometheus-grafana``, in it
``kafka-connect-cluster.json`` and ``connector-alerts.yml``, November 2025. Left out are kafka_connect_app,
kafka_connect_connect_metrics_* and jvm_*: the guide says why. Newer JMX exporters leave ``_total`` out of
``completed_rebalances``; Aiven's list has it.
"""


def test_the_queries_of_confluents_dashboard_have_data(scraped: tuple[WorkerProcess, Prometheus]) -> None:
    wait_for_data(scraped[1], CONFLUENTS)


def test_every_metric_of_the_guide_is_exported_and_no_other(scraped: tuple[WorkerProcess, Prometheus]) -> None:
    named = {
        name: metric
        for metric in METRICS
        for naming in (StrimziNaming(), ConfluentNaming())
        if (name := naming.name(metric)) is not None
    }
    expected = {name for name, metric in named.items() if metric.name not in RARE}

    def exported() -> set[str]:
        return {name for name in scraped[1].names() if name.startswith("kafka_")}

    wait_for(lambda: exported() >= expected, 60, lambda: f"missing: {sorted(expected - exported())}")
    assert exported() - set(named) == {"kafka_connect_plugins_polls_total"}


def test_what_a_task_counts_itself(scraped: tuple[WorkerProcess, Prometheus]) -> None:
    wait_for_data(scraped[1], {'kafka_connect_plugins_polls_total{connector="a-source",task="0",of="records"} > 10'})


def test_figures_of_a_failed_task_stay(scraped: tuple[WorkerProcess, Prometheus]) -> None:
    worker, prometheus = scraped
    own = 'connector="a-failure",task="0"'
    [status] = prometheus.query(f"kafka_connect_connector_task_status{{{own}}}")
    assert status["metric"]["status"] == "failed"
    [errors] = prometheus.query(f"kafka_connect_task_error_total_record_errors{{{own}}}")
    [read] = prometheus.query(f"kafka_connect_sink_task_sink_record_read_total{{{own}}}")
    assert (errors["value"][1], read["value"][1]) == ("1", "2")
    worker.delete("a-failure")
    wait_for(lambda: not prometheus.query(f"kafka_connect_connector_task_status{{{own}}}"), 60, "its end")


def test_prometheus_configuration_and_alerts() -> None:
    directory = OPS / "prometheus"
    assert "SUCCESS" in promtool("check", "config", "prometheus.yml", directory=directory)
    assert "SUCCESS" in promtool("check", "rules", "alerts.yml", directory=directory)
    assert "SUCCESS" in promtool("test", "rules", "alerts-test.yml", directory=directory)


def test_every_alert_is_tested() -> None:
    alerts = set(re.findall(r"alert: (\w+)", (OPS / "prometheus" / "alerts.yml").read_text()))
    tested = set(re.findall(r'alertname="(\w+)"', (OPS / "prometheus" / "alerts-test.yml").read_text()))
    assert alerts and alerts == tested
