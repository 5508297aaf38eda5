# SPDX-License-Identifier: Apache-2.0
"""The parts that source and sink tasks have in common: plugins, error handling, dead letters, converters, chain."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

from headrace.api.errors import ConfigError
from headrace.config.connector_config import (
    DLQ_REPLICATION_FACTOR,
    DLQ_TOPIC,
    ERRORS_TOLERANCE,
    ConnectorConfig,
    DeadLetterQueue,
)
from headrace.config.worker_config import WorkerConfig
from headrace.plugins.discovery import plugins_of
from headrace.task.errors.dead_letters import DeadLetter
from headrace.task.errors.processing_context import O
from headrace.task.errors.reporters import DeadLetterQueueReporter, LogReporter
from headrace.task.errors.retry_with_tolerance import ErrorReporter, RetryWithTolerance
from headrace.task.frames.frame_chain import has_frame_steps
from headrace.task.task_converters import TaskConverters
from headrace.task.task_metrics import TaskMetrics
from headrace.task.task_spec import TaskSpec
from headrace.task.worker_link import TaskControl, WorkerLink

log = logging.getLogger(__name__)
C = TypeVar("C", bound=ConnectorConfig)
AdminProperties = Callable[[WorkerConfig, Mapping[str, str], int], dict[str, str]]
"""Returns the properties of an admin client for worker, connector configuration and number of the task."""
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
        self.metrics = TaskMetrics(link.report_metrics, time.monotonic)
        self.plugins = plugins_of(spec.worker_config)
        self.converters = TaskConverters(spec.connector_config, spec.worker_config, self.plugins)

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

    def create_task(self, kind: type[Any]) -> Any:
        """Return the plugin's task, not initialized. ConfigError if its class is not of ``kind``."""
        cls = self.plugins.task(self.spec.task_class)
        if not issubclass(cls, kind):
            reason = f"task {self.spec.id} needs a {kind.__name__}"
            raise ConfigError.invalid("task.class", self.spec.task_class, reason)
        return cls()

    def admin_properties(self, properties: AdminProperties) -> dict[str, str]:
        """Return the properties of one of the task's admin clients."""
        return properties(WorkerConfig(self.spec.worker_config), self.config.raw, self.spec.id.task)

    def dead_letter_queue(self) -> DeadLetterQueue | None:
        """Return the connector's dead letter queue; logs a warning if it is without effect."""
        queue = self.config.dead_letter_queue
        if queue is not None and not self.config.tolerates_errors:
            message = "Task %s: %s=%s is without effect, as %s=none lets no record be set aside"
            log.warning(message, self.spec.id, DLQ_TOPIC, queue.topic, ERRORS_TOLERANCE)
        return queue

    def create_error_handling(
        self,
        send: Callable[[DeadLetter], None] | None,
        fits: Callable[[DeadLetter], bool] = lambda letter: True,
    ) -> RetryWithTolerance[O]:
        """Return the ``errors.*`` of the task. ``send`` and ``fits`` are those of ``DeadLetterQueueReporter``."""
        handling, queue = self.config.error_handling, self.config.dead_letter_queue
        reporters: list[ErrorReporter[O]] = [LogReporter(self.spec.id, handling, self.metrics)]
        if queue is not None and send is not None:
            reporters.append(DeadLetterQueueReporter(self.spec.id, queue.context_headers, send, self.metrics, fits))
        return RetryWithTolerance(handling, reporters, self.metrics, self.control.wait_for_stop)

    def create_dead_letter_topic(self, properties: AdminProperties) -> None:
        """Create the dead letter topic, of one partition as in Java, unless it exists or no record can get there.

        Blocks up to the client's request timeout. ConfigError, naming the property, for a replication factor that the
        cluster cannot provide; RetriableKafkaError while brokers are away.
        """
        queue = self.config.dead_letter_queue
        if queue is None or not self.config.tolerates_errors:
            return
        # Few tasks have one, and the admin client takes time to import.
        from headrace.kafka.admin.topic_admin import TopicAdmin, TopicSpec

        topics = TopicAdmin(self.admin_properties(properties))
        try:
            topics.create_topics([TopicSpec(queue.topic, 1, queue.replication_factor, prefix=_DLQ_PREFIX)])
        finally:
            topics.close()

    def _worker_seconds(self, name: str, default: int) -> float:
        return int(self.spec.worker_config.get(name, default)) / 1000
