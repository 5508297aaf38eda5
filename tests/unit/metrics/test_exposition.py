# SPDX-License-Identifier: Apache-2.0
"""What Prometheus reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

import headrace.task
from headrace.metrics.connect_metric import tagged
from headrace.metrics.exposition import Exposition
from headrace.metrics.figures import (
    ConnectorFigures,
    GroupFigures,
    RunFigures,
    Startups,
    TaskRunFigures,
    WorkerFigures,
)
from headrace.metrics.jmx_naming import NAMINGS
from headrace.metrics.plugin_metrics import plugin_metric_name
from headrace.model.ids import ConnectorTaskId

OPEN = "application/openmetrics-text; version=1.0.0"
LABEL = re.compile("(?!__)[a-zA-Z_][a-zA-Z0-9_]*")
RUNNING = RunFigures("running", 0.75, 0.25)
FIGURES = WorkerFigures(
    connectors={'c "1"': ConnectorFigures(RUNNING, "1.0", "a.B", "source"), "new": ConnectorFigures(RUNNING, None)},
    tasks={
        ConnectorTaskId('c "1"', 0): TaskRunFigures(RUNNING, {"source-record-poll-total": 7.0, "batch-size-max": 3.0}),
        ConnectorTaskId('c "1"', 1): TaskRunFigures(
            RunFigures("failed", 0.5, 0.0), {"total-record-failures": 2.0, "unheard-of": 1.0}
        ),
    },
    connector_startups=Startups(5, 3, 1),
    task_startups=Startups(2),
    group=GroupFigures("http://l:1/", "sessioned", 4, 3, True, 1500.0, 500.0, 60000.0),
)


def samples(figures: WorkerFigures, accept: str = "") -> dict[tuple[str, ...], float]:
    """Values by the metric's name and its labels' values, in the order of the labels' names."""
    text, _ = Exposition(lambda: figures).render(accept)
    families = text_string_to_metric_families(text.decode())
    return {
        (each.name, *dict(sorted(each.labels.items())).values()): each.value
        for family in families
        for each in family.samples
    }


def test_the_worker() -> None:
    found = samples(FIGURES)
    prefix = "kafka_connect_worker"
    assert found[(f"{prefix}_connector_count",)] == 2
    assert found[(f"{prefix}_task_count",)] == 2
    assert found[(f"{prefix}_connector_startup_attempts_total",)] == 5
    assert found[(f"{prefix}_connector_startup_success_total",)] == 3
    assert found[(f"{prefix}_connector_startup_failure_total",)] == 1
    assert found[(f"{prefix}_connector_startup_success_percentage",)] == 0.75
    assert found[(f"{prefix}_task_startup_failure_percentage",)] == 0
    assert found[(f"{prefix}_connector_total_task_count", 'c "1"')] == 2
    assert found[(f"{prefix}_connector_running_task_count", 'c "1"')] == 1
    assert found[(f"{prefix}_connector_failed_task_count", 'c "1"')] == 1
    assert found[(f"{prefix}_connector_paused_task_count", "new")] == 0


def test_connectors_and_tasks() -> None:
    found = samples(FIGURES)
    assert found[("kafka_connect_connector_status", 'c "1"', "running")] == 1
    assert found[("kafka_connect_connector_info", 'c "1"', "a.B", "source", "1.0")] == 1
    assert found[("kafka_connect_connector_task_status", 'c "1"', "failed", "1")] == 1
    assert found[("kafka_connect_connector_task_running_ratio", 'c "1"', "0")] == 0.75
    assert found[("kafka_connect_connector_task_pause_ratio", 'c "1"', "0")] == 0.25
    assert found[("kafka_connect_source_task_source_record_poll_total", 'c "1"', "0")] == 7
    assert found[("kafka_connect_connector_task_batch_size_max", 'c "1"', "0")] == 3
    assert found[("kafka_connect_task_error_total_record_failures", 'c "1"', "1")] == 2
    assert not [name for name, *_ in found if "unheard" in name]
    assert ("kafka_connect_source_task_source_record_poll_total", 'c "1"', "1") not in found


def test_nothing_that_tasks_count_is_left_out() -> None:
    counted: set[str] = set()
    for file in Path(headrace.task.__file__).parent.rglob("*.py"):
        text = file.read_text()
        counted |= set(re.findall(r'metrics\.(?:add|maximum|gauge|level)\(\s*"([^"]+)"', text))
        for name in re.findall(r'metrics\.outcome\("([^"]+)"', text):
            counted |= {f"{name}-success-percentage", f"{name}-failure-percentage"}
        for name, suffix in re.findall(r'metrics\.sample\(\s*"([^"]+)", .*?(?:, "([^"]*)")?\)\n', text):
            counted |= {f"{name}-{kind}{suffix}" for kind in ("avg", "max")}
    assert {"source-record-poll-total", "transaction-size-avg", "offset-commit-max-time-ms"} <= counted
    assert {"partition-count", "sink-record-active-count", "offset-commit-success-percentage"} <= counted
    task = TaskRunFigures(RUNNING, dict.fromkeys(counted, 5.0))
    shown = [name for name, *_ in samples(WorkerFigures(tasks={ConnectorTaskId("c", 0): task}))]
    missing = [name for name in counted if not any(each.endswith(name.replace("-", "_")) for each in shown)]
    assert missing == []


def test_the_group() -> None:
    found = samples(FIGURES)
    prefix = "kafka_connect_worker_rebalance"
    assert found[(f"{prefix}_info", "sessioned", "http://l:1/")] == 1
    assert found[(f"{prefix}_epoch",)] == 4
    assert found[(f"{prefix}_completed_rebalances_total",)] == 3
    assert found[(f"{prefix}_rebalancing",)] == 1
    assert found[(f"{prefix}_rebalance_max_time_ms",)] == 1500
    assert found[(f"{prefix}_rebalance_avg_time_ms",)] == 500
    assert found[(f"{prefix}_time_since_last_rebalance_ms",)] == 60000


def test_a_worker_that_is_alone_and_has_nothing() -> None:
    found = samples(WorkerFigures())
    assert found[("kafka_connect_worker_connector_count",)] == 0
    assert not [name for name, *_ in found if "rebalance" in name]
    assert found[("process_cpu_seconds_total",)] > 0


def test_the_format_that_is_asked_for() -> None:
    exposition = Exposition(WorkerFigures)
    assert exposition.render("")[1].startswith("text/plain; version=0.0.4")
    text, content_type = exposition.render(OPEN)
    assert content_type.startswith("application/openmetrics-text") and text.endswith(b"# EOF\n")


def labelled(naming: str, figures: WorkerFigures = FIGURES) -> dict[str, list[dict[str, str]]]:
    """The labels of all values by the metric's name."""
    text, _ = Exposition(lambda: figures, NAMINGS[naming]).render("")
    found: dict[str, list[dict[str, str]]] = {}
    for family in text_string_to_metric_families(text.decode()):
        for each in family.samples:
            if each.name.startswith("kafka_"):
                found.setdefault(each.name, []).append(each.labels)
    return found


def test_confluents_names() -> None:
    found = labelled("confluent")
    prefix = "kafka_connect_"
    for name in (
        "connect_worker_metrics_connector_count",
        "connect_worker_metrics_connector_startup_success_percentage",
        "connect_worker_metrics_task_startup_attempts_total",
        "connect_worker_metrics_connector_failed_task_count",
        "connect_worker_rebalance_metrics_completed_rebalances_total",
        "connect_worker_rebalance_metrics_time_since_last_rebalance_ms",
        "connect_coordinator_metrics_assigned_connectors",
        "connector_task_metrics_status",
        "connector_task_metrics_pause_ratio",
        "connector_task_metrics_batch_size_max",
        "source_task_metrics_source_record_poll_total",
        "task_error_metrics_total_record_failures",
    ):
        assert prefix + name in found
    own = [labels for labels in found["kafka_connect_connector_metrics"] if labels["connector"] != "new"]
    connector = {"connector": 'c "1"'}
    assert own == [
        {**connector, "status": "running"},
        {**connector, "connector_class": "a.B"},
        {**connector, "connector_type": "source"},
        {**connector, "connector_version": "1.0"},
    ]


def test_both_names_are_the_ones_and_the_others() -> None:
    strimzi, confluent, both = (labelled(naming) for naming in ("strimzi", "confluent", "both"))
    assert set(strimzi) & set(confluent) == set()
    assert both == strimzi | confluent


def test_what_the_dashboard_of_strimzi_joins_with() -> None:
    found = labelled("strimzi")
    connector = {"connector": 'c "1"'}
    assert {**connector, "connector_class": "a.B"} in found["kafka_connect_connector_connector_class"]
    assert {**connector, "connector_type": "source"} in found["kafka_connect_connector_connector_type"]
    assert {**connector, "connector_version": "1.0"} in found["kafka_connect_connector_connector_version"]
    assert found["kafka_connect_worker_rebalance_leader_name"] == [{"leader_name": "http://l:1/"}]
    assert found["kafka_connect_worker_rebalance_connect_protocol"] == [{"connect_protocol": "sessioned"}]
    assert "kafka_connect_coordinator_assigned_tasks" in found


def test_figures_of_a_tasks_clients_have_labels_of_their_own() -> None:
    name = tagged("consumer-fetch-manager-metrics", "records-lag", client_id="a b", topic="t", partition="3")
    total = tagged("producer-metrics", "outgoing-byte-total", client_id="p")
    task = TaskRunFigures(RUNNING, {name: 4.0, total: 9.0, tagged("producer-metrics", "odd"): 1.0})
    figures = WorkerFigures(tasks={ConnectorTaskId("c", 1): task})
    own = {"connector": "c", "task": "1"}
    found = labelled("both", figures)
    where = {"topic": "t", "partition": "3"}
    assert found["kafka_consumer_fetch_manager_records_lag"] == [{"clientId": "a b", **own, **where}]
    assert found["kafka_consumer_consumer_fetch_manager_metrics_records_lag"] == [{"client_id": "a b", **own, **where}]
    assert found["kafka_producer_outgoing_byte_total"] == [{"clientId": "p", **own}]
    assert found["kafka_producer_producer_metrics_outgoing_byte_total"] == [{"client_id": "p", **own}]
    assert not [each for each in found if "odd" in each]


def test_figures_of_plugins_have_their_tags_and_descriptions_and_one_name() -> None:
    figures = {
        plugin_metric_name("queue-size", "Rows that wait.", {"queue": 'a "b"', "odd tag": "&="}): 4.0,
        plugin_metric_name("rows-total", "Rows.", {}): 2.0,
    }
    shown = WorkerFigures(tasks={ConnectorTaskId("c", 1): TaskRunFigures(RUNNING, figures)})
    own = {"connector": "c", "task": "1"}
    both = labelled("both", shown)
    assert both["kafka_connect_plugins_queue_size"] == [{**own, "queue": 'a "b"', "odd_tag": "&="}]
    assert both["kafka_connect_plugins_rows_total"] == [own]
    text, _ = Exposition(lambda: shown).render("")
    assert b"# HELP kafka_connect_plugins_queue_size Rows that wait.\n" in text
    assert b"# TYPE kafka_connect_plugins_rows_total counter\n" in text


def test_figures_of_connectors_plugins_have_no_task() -> None:
    values = {plugin_metric_name("tables-total", "Tables.", {"database": "a"}): 3.0}
    shown = WorkerFigures(connectors={"c": ConnectorFigures(RUNNING, "1", values=values)})
    both = labelled("both", shown)
    assert both["kafka_connect_plugins_tables_total"] == [{"connector": "c", "database": "a"}]


@pytest.mark.parametrize("naming", NAMINGS)
@pytest.mark.parametrize(
    "figures",
    [
        {plugin_metric_name("a", "", {}): 1.0, plugin_metric_name("a-total", "", {}): 2.0},
        {plugin_metric_name("a-total", "", {}): 2.0, plugin_metric_name("a", "", {}): 1.0},
        {plugin_metric_name("info", "", {"t": "x"}): 3.0},
        {plugin_metric_name("a-total", "", {}): float("nan"), plugin_metric_name("a", "", {}): float("nan")},
        {plugin_metric_name("a", 'a "b" \\ \n', {"__name__": "b", "--x": "", "1a": 'v"\n\\', "_a": "w"}): 1.0},
    ],
)
def test_no_plugin_makes_the_text_unreadable(figures: dict[str, float], naming: str) -> None:
    """Prometheus would have no metrics of the worker at all."""
    name = 'c "d"\n\\'
    shown = WorkerFigures(
        connectors={name: ConnectorFigures(RUNNING, "1", values=figures)},
        tasks={ConnectorTaskId(name, 0): TaskRunFigures(RUNNING, figures)},
    )
    exposition = Exposition(lambda: shown, NAMINGS[naming])
    for accept, parse in ((OPEN, openmetrics.text_string_to_metric_families), ("", text_string_to_metric_families)):
        text = exposition.render(accept)[0].decode()
        found = [each for family in parse(text) for each in family.samples if "_plugins_" in each.name]
        assert found and all(each.labels["connector"] == name for each in found)
        assert all(LABEL.fullmatch(label) for each in found for label in each.labels), found
