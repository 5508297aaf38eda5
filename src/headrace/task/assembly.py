# SPDX-License-Identifier: Apache-2.0
"""The parts that source and sink tasks have in common: plugins, error handling, dead letters, converters, chain."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, Final, Generic, TypeVar

from headrace.api.errors import ConfigError
from headrace.config.connector_config import (
    DLQ_REPLICATION_FACTOR,
    DLQ_TOPIC,
    ERRORS_TOLERANCE,
    ConnectorConfig,
    DeadLetterQueue,
)
from headrace.config.java_config import java_options
from headrace.config.telemetry_config import LINEAGE, TRACES
from headrace.config.worker_config import CLIENT_METRICS_INTERVAL, WorkerConfig
from headrace.java.process_options import use_options
from headrace.kafka.data.client_statistics import ClientStatistics
from headrace.plugins.command_access import command_access
from headrace.plugins.discovery import plugins_of
from headrace.task.errors.error_reports import ErrorReports, ToleratedErrorReporter
from headrace.task.errors.processing_context import O
from headrace.task.errors.reporters import DeadLetter, DeadLetterQueueReporter, LogReporter
from headrace.task.errors.retry_with_tolerance import ErrorReporter, RetryWithTolerance
from headrace.task.frames.frame_chain import has_frame_steps
from headrace.task.record_schemas import RecordSchemas
from headrace.task.task_converters import TaskConverters
from headrace.task.task_metrics import TaskMetrics, TaskPluginMetrics
from headrace.task.task_protocol import Metrics
from headrace.task.task_spec import TaskKind, TaskSpec
from headrace.task.task_steps import TaskSteps
from headrace.task.worker_link import TaskControl, WorkerLink
from headrace.telemetry.tracing import NO_TRACING, Tracing, create_tracing

log = logging.getLogger(__name__)
C = TypeVar("C", bound=ConnectorConfig)
ClientProperties = Callable[[WorkerConfig, Mapping[str, str], int], dict[str, str]]
"""Returns the properties of a client for worker, connector configuration and number of the task."""
_TRACES_TIMEOUT: Final = 1.0
"""Seconds that the end of a task waits for its last spans to be sent."""
_DLQ_PREFIX: Final = DLQ_REPLICATION_FACTOR.removesuffix(".replication.factor")


class TaskAssembly(Generic[C, O]):
    """Creates parts of one task as its specification says. In the task's process, before its task starts.

    Nothing connects until ``create_dead_letter_topic``.
    """

    def __init__(self, spec: TaskSpec, config: C, link: WorkerLink, control: TaskControl) -> None:
        self.spec = spec
        self.config = config
        self.link = link
        self.control = control
        progress, steps = control.progress, TaskSteps(sink=spec.kind is TaskKind.SINK)
        self.metrics = TaskMetrics(
            lambda values: link.send(Metrics(values, progress.measure(), steps.counts())),
            time.monotonic,
            control.report_interval,
            progress=progress,
            steps=steps,
        )
        use_options(java_options(spec.worker_config, spec.connector_config))
        self.reports = ErrorReports(link.send)
        self.metrics.before_report(self.reports.send_waiting)
        self.plugins = plugins_of(spec.worker_config)
        self.plugin_metrics = TaskPluginMetrics(self.metrics)
        self.tracing = _tracing(spec)
        lineage = spec.worker_config.get(LINEAGE, "").strip().lower() == "true"
        self.schemas = RecordSchemas(link.send, time.monotonic) if lineage else None
        monitor = self.plugin_metrics.monitor
        self.converters = TaskConverters(spec.connector_config, spec.worker_config, self.plugins, monitor)

    @cached_property
    def has_frame_steps(self) -> bool:
        """True if a transformation of the connector works on DataFrames."""
        return has_frame_steps(self.config, self.plugins)

    @property
    def flush_interval(self) -> float:
        """``offset.flush.interval.ms`` in seconds."""
        return self._worker_seconds("offset.flush.interval.ms", 60_000)

    @property
    def flush_timeout(self) -> float:
        """``offset.flush.timeout.ms`` in seconds."""
        return self._worker_seconds("offset.flush.timeout.ms", 5_000)

    def client_statistics(self) -> ClientStatistics | None:
        """Return what makes one of the task's clients report its metrics; None if the worker wants none."""
        interval = self._worker_seconds(CLIENT_METRICS_INTERVAL, 0)
        return ClientStatistics(interval, partial(self.metrics.replace, "client")) if interval else None

    def create_task(self, kind: type[Any]) -> Any:
        """Return the plugin's task, not initialized.

        ConfigError if its class is not of ``kind``, or if it may not start its command on this machine.
        """
        command_access(self.spec.worker_config).check(self.spec.id.connector, self.spec.task_config)
        cls = self.plugins.task(self.spec.task_class)
        if not issubclass(cls, kind):
            reason = f"task {self.spec.id} needs a {kind.__name__}"
            raise ConfigError.invalid("task.class", self.spec.task_class, reason)
        return cls()

    def client_properties(self, properties: ClientProperties) -> dict[str, str]:
        """Return the properties of one of the task's other clients."""
        return properties(WorkerConfig(self.spec.worker_config), self.config.raw, self.spec.id.task)

    def dead_letter_queue(self) -> DeadLetterQueue | None:
        """Return the connector's dead letter queue; logs a warning if it is without effect."""
        queue = self.config.dead_letter_queue
        if queue is not None and not self.config.tolerates_errors:
            message = "Task %s: %s=%s is without effect, as %s=none lets no record be skipped"
            log.warning(message, self.spec.id, DLQ_TOPIC, queue.topic, ERRORS_TOLERANCE)
        return queue

    def create_error_handling(
        self,
        send: Callable[[DeadLetter], None] | None,
        fits: Callable[[DeadLetter], bool] = lambda letter: True,
    ) -> RetryWithTolerance[O]:
        """Return the ``errors.*`` of the task. ``send`` and ``fits`` are those of ``DeadLetterQueueReporter``."""
        handling, queue = self.config.error_handling, self.config.dead_letter_queue
        reporters: list[ErrorReporter[O]] = [
            LogReporter(self.spec.id, handling, self.metrics),
            ToleratedErrorReporter(self.reports),
        ]
        if queue is not None and send is not None:
            reporters.append(DeadLetterQueueReporter(self.spec.id, queue.context_headers, send, self.metrics, fits))
        return RetryWithTolerance(handling, reporters, self.metrics, self.control.wait_for_stop, reports=self.reports)

    def create_dead_letter_topic(self, properties: ClientProperties) -> None:
        """Create the dead letter topic, of one partition as in Java, unless it exists or no record can get there.

        Blocks up to the client's request timeout. ConfigError, naming the property, for a replication factor that the
        cluster cannot provide; RetriableKafkaError while brokers are not available.
        """
        queue = self.config.dead_letter_queue
        if queue is None or not self.config.tolerates_errors:
            return
        # Few tasks have one, and the admin client takes time to import.
        from headrace.kafka.admin.topic_admin import TopicAdmin, TopicSpec

        topics = TopicAdmin(self.client_properties(properties))
        try:
            topics.create_topics([TopicSpec(queue.topic, 1, queue.replication_factor, prefix=_DLQ_PREFIX)])
        finally:
            topics.close()

    def close_tracing(self) -> None:
        """Send the spans that are left."""
        self.tracing.close(_TRACES_TIMEOUT)

    def _worker_seconds(self, name: str, default: int) -> float:
        return int(self.spec.worker_config.get(name, default)) / 1000


def _tracing(spec: TaskSpec) -> Tracing:
    """Return the traces of the task's process; none where its packages are missing, as on an executor."""
    try:
        return create_tracing(spec.worker_config.get(TRACES), str(spec.id))
    except ConfigError as error:
        log.warning("Task %s sends no traces: %s", spec.id, error)
        return NO_TRACING
