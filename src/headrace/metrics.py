# SPDX-License-Identifier: Apache-2.0
"""A worker's figures, under Kafka Connect's names, for Prometheus.

``kafka.connect:type=source-task-metrics`` with its attribute ``source-record-poll-total`` is
``kafka_connect_source_task_source_record_poll_total``: what the usual rules of the JMX exporter make of Kafka Connect's
own metrics. Java: ``ConnectMetricsRegistry``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.exposition import choose_encoder

from headrace.model.ids import ConnectorTaskId

TASK_WAITING: Final = "waiting-for-cores"
_TASK_STATES: Final = ("running", "paused", "failed", "unassigned", "destroyed", "restarting")


@dataclass(frozen=True, slots=True)
class Startups:
    """The counts of a worker's starts of connectors or tasks; a start under way is no success and no failure."""

    attempts: int = 0
    successes: int = 0
    failures: int = 0


@dataclass(frozen=True, slots=True)
class RunFigures:
    """The state, in lower case, of a connector or task; ratios are parts, up to 1, of the time since its start here."""

    state: str
    running_ratio: float
    pause_ratio: float


@dataclass(frozen=True, slots=True)
class ConnectorFigures:
    """A connector's run, version, class and type: source, sink or unknown."""

    run: RunFigures
    version: str | None
    connector_class: str = ""
    type: str = "unknown"


@dataclass(frozen=True, slots=True)
class TaskRunFigures:
    """A task's run and its own figures, ``values``, by Kafka Connect's names."""

    run: RunFigures
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """A worker's membership. Times are milliseconds, None as long as there was no rebalance."""

    leader_name: str | None
    protocol: str
    epoch: int
    completed_rebalances: int
    rebalancing: bool
    rebalance_max_ms: float | None = None
    rebalance_avg_ms: float | None = None
    since_last_rebalance_ms: float | None = None


@dataclass(frozen=True, slots=True)
class WorkerFigures:
    """A snapshot of a worker's figures; ``group`` only for a member of a group."""

    connectors: Mapping[str, ConnectorFigures] = field(default_factory=dict)
    tasks: Mapping[ConnectorTaskId, TaskRunFigures] = field(default_factory=dict)
    connector_startups: Startups = Startups()
    task_startups: Startups = Startups()
    group: GroupFigures | None = None


@dataclass(frozen=True, slots=True)
class _TaskMetric:
    """A figure of tasks, by Kafka Connect's group and name."""

    group: str
    name: str
    doc: str

    @property
    def full_name(self) -> str:
        return f"kafka_connect_{self.group}_{self.name}".replace("-", "_")


_TASK_METRICS: Final = tuple(
    _TaskMetric(group, name, doc)
    for group, metrics in {
        "connector_task": {
            "batch-size-avg": "The average number of records in a poll that had some.",
            "batch-size-max": "The greatest number of records in a poll.",
            "offset-commit-avg-time-ms": "The average time of a commit of offsets, or of a transaction.",
            "offset-commit-max-time-ms": "The longest time of a commit of offsets, or of a transaction.",
            "offset-commit-failure-total": "Commits of offsets that failed.",
            TASK_WAITING: "1 while Spark has no cores for the task's process, or is not running.",
            "task-restarts-total": "Attempts of the task that ended without failing and were followed by another.",
            "task-fencings-total": "Attempts that ended because their producer was fenced.",
            "task-taints-total": "Attempts that ended because it was uncertain what became of a transaction.",
        },
        "source_task": {
            "source-record-poll-total": "Records that the task has polled.",
            "source-record-poll-rate": "Records that the task polls per second, over 30 s.",
            "source-record-write-total": "Records that the task has written, after transformations.",
            "source-record-write-rate": "Records that the task writes per second, over 30 s.",
            "poll-batch-avg-time-ms": "The average time of a poll that had records.",
            "poll-batch-max-time-ms": "The longest time of a poll that had records.",
            "transaction-size-avg": "The average number of records in a transaction.",
            "transaction-size-min": "The least number of records in a transaction.",
            "transaction-size-max": "The greatest number of records in a transaction.",
            "transactions-committed-total": "Transactions that the task has committed.",
            "transactions-aborted-total": "Transactions that the task has aborted as its connector wanted.",
            "global-offset-copy-pending": "Source partitions whose offsets are not in the workers' topic yet.",
            "global-offset-copy-lag-ms": "The age of the oldest offset that is not in the workers' topic yet.",
        },
        "sink_task": {
            "sink-record-read-total": "Records that the task has read.",
            "sink-record-read-rate": "Records that the task reads per second, over 30 s.",
            "sink-record-send-total": "Records that were put, after transformations.",
            "sink-record-send-rate": "Records that are put per second, over 30 s.",
            "put-batch-avg-time-ms": "The average time of a put.",
            "put-batch-max-time-ms": "The longest time of a put.",
            "offset-commit-seq-no": "The number of the task's newest commit of offsets.",
            "offset-commit-completion-total": "Commits of offsets that went well.",
            "offset-commit-skip-total": "Commits of offsets that came too late to count.",
        },
        "task_error": {
            "total-record-failures": "Operations on records that failed, each attempt counted.",
            "total-record-errors": "Records that could not be processed.",
            "total-records-skipped": "Records that were skipped because of errors.",
            "total-retries": "Operations that were tried again.",
            "total-errors-logged": "Errors that were logged.",
            "deadletterqueue-produce-requests": "Records that were given to the dead letter topic.",
            "last-error-timestamp": "When the task last met an error, in milliseconds since the epoch.",
        },
    }.items()
    for name, doc in metrics.items()
)


class ConnectCollector:
    """A collector for prometheus_client's registries; ``figures`` must answer at once, from any thread."""

    def __init__(self, figures: Callable[[], WorkerFigures]) -> None:
        self._figures = figures

    def collect(self) -> Iterable[Metric]:
        figures = self._figures()
        yield from _worker(figures)
        yield from _connectors(figures)
        yield from _tasks(figures)
        if figures.group is not None:
            yield from _group(figures.group)


class Exposition:
    """The worker's and its process' figures in the formats that Prometheus reads."""

    def __init__(self, figures: Callable[[], WorkerFigures]) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(ConnectCollector(figures))
        for process_collector in (ProcessCollector, PlatformCollector, GCCollector):
            process_collector(registry=self._registry)

    def render(self, accept: str) -> tuple[bytes, str]:
        """Return the text and its content type, in the format that fits the header ``Accept`` best."""
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type


def _worker(figures: WorkerFigures) -> Iterator[Metric]:
    prefix = "kafka_connect_worker"
    yield GaugeMetricFamily(f"{prefix}_connector_count", "Connectors on this worker.", len(figures.connectors))
    yield GaugeMetricFamily(f"{prefix}_task_count", "Tasks on this worker.", len(figures.tasks))
    waiting = sum(task.values.get(TASK_WAITING, 0.0) for task in figures.tasks.values())
    yield GaugeMetricFamily(f"{prefix}_tasks_waiting_for_cores", "Tasks for which Spark has no cores.", waiting)
    for what, startups in (("connector", figures.connector_startups), ("task", figures.task_startups)):
        name = f"{prefix}_{what}_startup"
        yield CounterMetricFamily(f"{name}_attempts", f"Starts of a {what}.", startups.attempts)
        ended = startups.successes + startups.failures
        for outcome, count in (("success", startups.successes), ("failure", startups.failures)):
            yield CounterMetricFamily(f"{name}_{outcome}", f"Starts of a {what} that ended so.", count)
            part = count / ended if ended else 0.0
            yield GaugeMetricFamily(f"{name}_{outcome}_percentage", "The same, as a part of all, up to 1.", part)
    states = [f"connector-{state}-task-count" for state in ("total", *_TASK_STATES)]
    families = {name: GaugeMetricFamily(_metric_name(prefix, name), _TASKS_OF, labels=["connector"]) for name in states}
    for connector in sorted({*figures.connectors, *(id.connector for id in figures.tasks)}):
        own = [task.run.state for id, task in figures.tasks.items() if id.connector == connector]
        families[states[0]].add_metric([connector], len(own))
        for name, state in zip(states[1:], _TASK_STATES, strict=True):
            families[name].add_metric([connector], own.count(state))
    yield from families.values()


_TASKS_OF: Final = "Tasks of the connector on this worker, all or those in one state."


def _connectors(figures: WorkerFigures) -> Iterator[Metric]:
    status = GaugeMetricFamily(
        "kafka_connect_connector_status", "1 for the state that a connector is in.", labels=["connector", "status"]
    )
    about = InfoMetricFamily("kafka_connect_connector", "What a connector is.", labels=["connector"])
    for name, connector in sorted(figures.connectors.items()):
        status.add_metric([name, connector.run.state], 1)
        about.add_metric(
            [name],
            {
                "connector_type": connector.type,
                "connector_class": connector.connector_class,
                "connector_version": connector.version or "",
            },
        )
    yield status
    yield about


def _tasks(figures: WorkerFigures) -> Iterator[Metric]:
    labels = ["connector", "task"]
    prefix = "kafka_connect_connector_task"
    status = GaugeMetricFamily(f"{prefix}_status", "1 for the state that a task is in.", labels=[*labels, "status"])
    running = GaugeMetricFamily(f"{prefix}_running_ratio", "The part of its time that a task runs.", labels=labels)
    paused = GaugeMetricFamily(f"{prefix}_pause_ratio", "The part of its time that a task is paused.", labels=labels)
    tasks = [([id.connector, str(id.task)], task) for id, task in sorted(figures.tasks.items())]
    for place, task in tasks:
        status.add_metric([*place, task.run.state], 1)
        running.add_metric(place, task.run.running_ratio)
        paused.add_metric(place, task.run.pause_ratio)
    yield from (status, running, paused)
    for metric in _TASK_METRICS:
        family = _family(metric)
        for place, task in tasks:
            if metric.name in task.values:
                family.add_metric(place, task.values[metric.name])
        yield family


def _family(metric: _TaskMetric) -> CounterMetricFamily | GaugeMetricFamily:
    """Return an empty family: a counter if the name ends in ``-total``, as Prometheus requires, else a gauge."""
    labels = ["connector", "task"]
    if metric.name.endswith("-total"):
        return CounterMetricFamily(metric.full_name.removesuffix("_total"), metric.doc, labels=labels)
    return GaugeMetricFamily(metric.full_name, metric.doc, labels=labels)


def _group(group: GroupFigures) -> Iterator[Metric]:
    prefix = "kafka_connect_worker_rebalance"
    about = {"leader_name": group.leader_name or "", "connect_protocol": group.protocol}
    yield InfoMetricFamily(prefix, "The group's leader and protocol.", about)
    yield GaugeMetricFamily(f"{prefix}_epoch", "The generation of the group.", group.epoch)
    yield CounterMetricFamily(
        f"{prefix}_completed_rebalances", "Rebalances that this worker has been part of.", group.completed_rebalances
    )
    yield GaugeMetricFamily(f"{prefix}_rebalancing", "1 while this worker rebalances.", int(group.rebalancing))
    times = {
        "rebalance-max-time-ms": (group.rebalance_max_ms, "The longest time of a rebalance."),
        "rebalance-avg-time-ms": (group.rebalance_avg_ms, "The average time of a rebalance."),
        "time-since-last-rebalance-ms": (group.since_last_rebalance_ms, "The time since the last rebalance."),
    }
    for name, (value, doc) in times.items():
        if value is not None:
            yield GaugeMetricFamily(_metric_name(prefix, name), doc, value)


def _metric_name(prefix: str, name: str) -> str:
    return f"{prefix}_{name}".replace("-", "_")
