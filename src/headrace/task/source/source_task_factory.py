# SPDX-License-Identifier: Apache-2.0
"""Puts a source task together in its process: the only place that knows all parts."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from headrace.api.errors import ConfigError
from headrace.api.source import SourceTask
from headrace.kafka.record_producer import RecordProducer
from headrace.kafka.transactional_producer import TransactionalProducer
from headrace.plugins.discovery import Plugins
from headrace.task.record_converter import record_converter
from headrace.task.source.committed_offsets import CommittedOffsets
from headrace.task.source.exactly_once_worker_source_task import ExactlyOnceWorkerSourceTask
from headrace.task.source.offset_committer import OffsetCommitter
from headrace.task.source.poller import Poller
from headrace.task.source.source_batch import SourceBatches
from headrace.task.source.source_task_context import LinkedOffsetStorageReader, WorkerSourceTaskContext
from headrace.task.source.task_callbacks import TaskCallbacks
from headrace.task.source.transaction_boundary import (
    Boundary,
    ConnectorBoundary,
    IntervalBoundary,
    WorkerTransactionContext,
    boundary_of,
)
from headrace.task.source.transactional_writer import TransactionalWriter
from headrace.task.source.worker_source_task import WorkerSourceTask
from headrace.task.task_metrics import TaskMetrics
from headrace.task.task_spec import TaskSpec
from headrace.task.transformation_chain import transformation_chain
from headrace.task.worker_link import TaskControl, WorkerLink

_log = logging.getLogger(__name__)
_STOP_TIME = 2.0
TRANSACTION_TIMEOUT = "transaction.timeout.ms"


class RunnableSourceTask:
    """A source task with the loop that drives it. ``headrace.task.worker_task.RunnableTask``."""

    def __init__(
        self,
        spec: TaskSpec,
        task: SourceTask,
        context: WorkerSourceTaskContext,
        control: TaskControl,
        init: Callable[[], None],
        loop: Callable[[], None],
        closing: tuple[Callable[[], None], ...],
    ) -> None:
        self._spec = spec
        self._task = task
        self._context = context
        self._control = control
        self._closing = closing
        self.init = init
        self.run = loop

    def start(self) -> None:
        self._task.initialize(self._context)
        if self._control.on_stop(self._stop_task):
            self._task.start(self._spec.task_config)

    def close(self) -> None:
        # A task that has ended by itself is told to stop too, from another thread as ever, should that hang.
        stopping = threading.Thread(target=self._control.stop, name="task-stop", daemon=True)
        stopping.start()
        stopping.join(_STOP_TIME)
        for close in self._closing:
            close()

    def _stop_task(self) -> None:
        try:
            self._task.stop()
        except Exception:
            _log.exception("stop of task %s failed", self._spec.id)


def source_task(spec: TaskSpec, link: WorkerLink, control: TaskControl) -> RunnableSourceTask:
    """The task that ``spec`` describes, not started and without any connection yet."""
    plugins = Plugins(tuple(p.strip() for p in spec.worker_config.get("plugin.path", "").split(",") if p.strip()))
    task_class = plugins.task(spec.task_class)
    if not issubclass(task_class, SourceTask):
        raise ConfigError.invalid("task.class", spec.task_class, f"task {spec.id} needs a SourceTask")
    task = task_class()
    callbacks = TaskCallbacks(task)
    converter = record_converter(spec.connector_config, spec.worker_config, plugins)
    chain = transformation_chain(spec.connector_config, plugins)
    batches = SourceBatches(spec.id.connector, chain, converter, remember=callbacks.wants_records)
    make = _exactly_once if spec.exactly_once else _at_least_once
    return make(spec, task, batches, callbacks, Poller(task, control, link), link, control)


def _exactly_once(
    spec: TaskSpec,
    task: SourceTask,
    batches: SourceBatches,
    callbacks: TaskCallbacks,
    poller: Poller,
    link: WorkerLink,
    control: TaskControl,
) -> RunnableSourceTask:
    transactions = WorkerTransactionContext()
    boundary = boundary_of(spec.connector_config, _flush_interval(spec), time.monotonic, transactions)
    timeout = _transaction_timeout(spec, boundary)
    properties = {**spec.producer, TRANSACTION_TIMEOUT: str(round(timeout * 1000))}
    producer = TransactionalProducer(properties, every_delivery=callbacks.wants_records)
    writer = TransactionalWriter(producer, spec.offsets_topic, timeout, remember=callbacks.wants_records)
    metrics = TaskMetrics(link.metrics, time.monotonic)
    loop = ExactlyOnceWorkerSourceTask(
        poller, batches, writer, boundary, CommittedOffsets(callbacks, link), metrics, time.monotonic
    )
    given = transactions if isinstance(boundary, ConnectorBoundary) else None
    context = WorkerSourceTaskContext(spec.task_config, LinkedOffsetStorageReader(link), given)
    return RunnableSourceTask(spec, task, context, control, writer.init, loop.run, (writer.close, batches.close))


def _at_least_once(
    spec: TaskSpec,
    task: SourceTask,
    batches: SourceBatches,
    callbacks: TaskCallbacks,
    poller: Poller,
    link: WorkerLink,
    control: TaskControl,
) -> RunnableSourceTask:
    timeout = int(spec.worker_config.get("offset.flush.timeout.ms", 5_000)) / 1000
    committer = OffsetCommitter(
        RecordProducer(spec.producer, every_delivery=True),
        spec.offsets_topic,
        _flush_interval(spec),
        timeout,
        remember=callbacks.wants_records,
    )
    metrics = TaskMetrics(link.metrics, time.monotonic)
    loop = WorkerSourceTask(poller, batches, committer, CommittedOffsets(callbacks, link), metrics, time.monotonic)
    context = WorkerSourceTaskContext(spec.task_config, LinkedOffsetStorageReader(link), None)
    return RunnableSourceTask(spec, task, context, control, _nothing, loop.run, (committer.close, batches.close))


def _transaction_timeout(spec: TaskSpec, boundary: Boundary) -> float:
    """Seconds; the broker aborts older transactions and fences their producer, so an interval has to fit in."""
    interval = boundary.interval if isinstance(boundary, IntervalBoundary) else 0.0
    given = spec.producer.get(TRANSACTION_TIMEOUT)
    if given is None:
        return interval + 60.0
    timeout = int(given) / 1000
    if timeout <= interval:
        reason = f"transactions last transaction.boundary.interval.ms = {interval * 1000:g}, so it has to be larger"
        raise ConfigError.invalid(f"producer.override.{TRANSACTION_TIMEOUT}", given, reason)
    return timeout


def _flush_interval(spec: TaskSpec) -> float:
    return int(spec.worker_config.get("offset.flush.interval.ms", 60_000)) / 1000


def _nothing() -> None:
    """At-least-once tasks have nobody to fence."""
