# SPDX-License-Identifier: Apache-2.0
"""Puts a source task together in its process: the only place that knows all parts."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.api.errors import ConfigError
from headrace.api.frames import Frames
from headrace.api.record import SourceRecord
from headrace.api.source import OffsetStorageReader, SourceTask, SourceTaskContext, TransactionContext
from headrace.config.client_configs import source_task_admin
from headrace.config.connector_config import DLQ_TOPIC, ERRORS_TOLERANCE
from headrace.config.source_connector_config import SourceConnectorConfig
from headrace.config.topic_creation import topic_groups, uses_topic_creation
from headrace.config.worker_config import BOOTSTRAP_SERVERS, WorkerConfig
from headrace.kafka.data.record_producer import RecordProducer
from headrace.kafka.data.transactional_producer import TransactionalProducer
from headrace.kafka.errors import TopicAuthorizationError
from headrace.plugins.discovery import plugins_of
from headrace.storage.unusable_offsets_topic import unusable
from headrace.task.errors.dead_letters import DeadLetter
from headrace.task.errors.processing_context import Operation, Stage
from headrace.task.errors.reporters import DeadLetterQueueReporter, LogReporter
from headrace.task.errors.retry_with_tolerance import ErrorReporter, RetryWithTolerance
from headrace.task.frames.frame_chain import frame_chain, has_frame_steps
from headrace.task.frames.frame_step import FrameRunner
from headrace.task.record_converter import record_converter
from headrace.task.source.exactly_once_worker_source_task import ExactlyOnceWorkerSourceTask
from headrace.task.source.frame_batches import GATHERED, FrameBatches
from headrace.task.source.offset_committer import LinkOffsetWriter, OffsetCommitter, TopicOffsetWriter
from headrace.task.source.record_sizes import MAX_REQUEST_SIZE, ProducibleRecords, SizeLimits, topic_limits
from headrace.task.source.source_batch import Batches, SourceBatches, SourceDeadLetters, SteppedBatches
from headrace.task.source.source_task_calls import CommitNotifier, Poller
from headrace.task.source.submitted_records import RefusedRecords
from headrace.task.source.transaction_boundary import (
    Boundary,
    ConnectorBoundary,
    IntervalBoundary,
    PollBoundary,
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
_BROKERS_LONGEST_TRANSACTION = 900.0
_MAX_REQUEST_SIZE = 1_048_576
_RUNTIME = "org.apache.kafka.connect.runtime"
_OPERATIONS = {
    exactly_once: Operation(Stage.KAFKA_PRODUCE, f"{_RUNTIME}.{name}")
    for exactly_once, name in ((True, "ExactlyOnceWorkerSourceTask"), (False, "WorkerSourceTask"))
}
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
        self._loop = loop

    def start(self) -> None:
        self._task.initialize(self._context)
        if self._control.on_stop(self._stop_task):
            self._task.start(self._spec.task_config)

    def run(self) -> None:
        try:
            self._loop()
        except TopicAuthorizationError as error:
            if error.topic != self._spec.offsets_topic:
                raise
            servers = self._spec.producer[BOOTSTRAP_SERVERS]
            raise (unusable(self._spec.connector_config, error.topic, servers, error) or error) from error

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
        except BaseException:  # SystemExit too would end this thread without a word
            _log.exception("stop of task %s failed", self._spec.id)


def source_task(spec: TaskSpec, link: WorkerLink, control: TaskControl) -> RunnableSourceTask:
    """The task that ``spec`` describes, not started and without any connection yet."""
    plugins = plugins_of(spec.worker_config)
    task_class = plugins.task(spec.task_class)
    if not issubclass(task_class, SourceTask):
        raise ConfigError.invalid("task.class", spec.task_class, f"task {spec.id} needs a SourceTask")
    config = SourceConnectorConfig(spec.connector_config)
    task, metrics = task_class(), TaskMetrics(link.metrics, time.monotonic)
    notifier = CommitNotifier(task, link)
    dead_letters, limits = _dead_letters(spec, config), _size_limits(spec, config)
    errors = _errors(spec, config, dead_letters, limits, metrics, control)
    converter = record_converter(spec.connector_config, spec.worker_config, plugins, errors)
    name, remember = spec.id.connector, notifier.wants_records
    batches: Batches
    if has_frame_steps(config, plugins):
        runner = FrameRunner(link.frames, config.error_handling, control.wait_for_stop)
        frames = frame_chain(config, plugins, errors, runner)
        # Without transactions each poll goes out by itself, as nobody tells when to send what was kept.
        gather = GATHERED if spec.exactly_once else 1
        batches = FrameBatches(name, frames, converter, dead_letters, remember=remember, gather=gather)
    else:
        chain = transformation_chain(config, plugins, errors)
        batches = SourceBatches(name, chain, converter, dead_letters, remember=remember)
    batches = _with_topics(batches, spec, config, control)
    if config.tolerates_errors:
        producible = ProducibleRecords(limits, errors, dead_letters, _OPERATIONS[spec.exactly_once])
        batches = SteppedBatches(batches, producible.step)
    parts = _Parts(spec, config, task, batches, notifier, metrics, link, control, errors, dead_letters)
    return _exactly_once(parts) if spec.exactly_once else _at_least_once(parts)


@dataclass(frozen=True, slots=True)
class _Parts:
    """What both kinds of tasks are made of."""

    spec: TaskSpec
    config: SourceConnectorConfig
    task: SourceTask
    batches: Batches
    notifier: CommitNotifier
    metrics: TaskMetrics
    link: WorkerLink
    control: TaskControl
    errors: RetryWithTolerance[SourceRecord]
    dead_letters: SourceDeadLetters | None

    @property
    def poller(self) -> Poller:
        return Poller(self.task, self.control, self.link)

    def make_dead_letter_topic(self) -> None:
        queue = self.config.dead_letter_queue
        if queue is not None and self.config.tolerates_errors:
            # Few tasks have one, and the admin client takes time to import.
            from headrace.task.errors.dead_letter_topic import create_dead_letter_topic

            worker = WorkerConfig(self.spec.worker_config)
            create_dead_letter_topic(queue, source_task_admin(worker, self.config.raw, self.spec.id.task))


def _with_topics(batches: Batches, spec: TaskSpec, config: SourceConnectorConfig, control: TaskControl) -> Batches:
    """``batches``; if worker and connector say so, the task makes the topics that they go to."""
    if not uses_topic_creation(config.raw):
        return batches
    worker = WorkerConfig(spec.worker_config)
    if not worker.topic_creation_enabled:
        return batches
    # Few tasks make topics, and the admin client takes time to import.
    from headrace.kafka.admin.topic_admin import TopicAdmin
    from headrace.task.source.topic_creation import TopicCreation

    admin = source_task_admin(worker, config.raw, spec.id.task)
    creation = TopicCreation(topic_groups(config.raw), lambda: TopicAdmin(admin), control.wait_for_stop)
    return SteppedBatches(batches, creation.step)


def _dead_letters(spec: TaskSpec, config: SourceConnectorConfig) -> SourceDeadLetters | None:
    queue = config.dead_letter_queue
    if queue is None:
        return None
    if not config.tolerates_errors:
        message = "Task %s: %s=%s is without effect, as %s=none lets no record be set aside"
        _log.warning(message, spec.id, DLQ_TOPIC, queue.topic, ERRORS_TOLERANCE)
    return SourceDeadLetters(queue.topic)


def _size_limits(spec: TaskSpec, config: SourceConnectorConfig) -> SizeLimits:
    # Librdkafka's own name for it may be used too.
    given = spec.producer.get("message.max.bytes") or spec.producer.get(MAX_REQUEST_SIZE)
    client = int(given or _MAX_REQUEST_SIZE)
    if spec.producer.get("compression.type", "none") != "none":
        return SizeLimits(client, None)
    admin = source_task_admin(WorkerConfig(spec.worker_config), config.raw, spec.id.task)
    return SizeLimits(client, topic_limits(admin))


def _errors(
    spec: TaskSpec,
    config: SourceConnectorConfig,
    dead_letters: SourceDeadLetters | None,
    limits: SizeLimits,
    metrics: TaskMetrics,
    control: TaskControl,
) -> RetryWithTolerance[SourceRecord]:
    handling, queue = config.error_handling, config.dead_letter_queue
    reporters: list[ErrorReporter[SourceRecord]] = [LogReporter(spec.id, handling, metrics)]
    if queue is not None and dead_letters is not None:
        topic = queue.topic

        def fits(letter: DeadLetter) -> bool:
            return limits.refusal(topic, letter.key, letter.value, letter.headers) is None

        reporters.append(DeadLetterQueueReporter(spec.id, queue.context_headers, dead_letters.add, metrics, fits))
    return RetryWithTolerance(handling, reporters, metrics, control.wait_for_stop)


def _exactly_once(parts: _Parts) -> RunnableSourceTask:
    spec, notifier, link = parts.spec, parts.notifier, parts.link
    transactions = WorkerTransactionContext()
    boundary = boundary_of(spec.connector_config, _flush_interval(spec), time.monotonic, transactions)
    timeout = _transaction_timeout(spec, boundary, parts.config.error_handling.retry_timeout)
    properties = {**spec.producer, TRANSACTION_TIMEOUT: str(round(timeout * 1000))}
    producer = TransactionalProducer(properties, every_delivery=notifier.wants_records)
    writer = TransactionalWriter(producer, spec.offsets_topic, timeout, remember=notifier.wants_records)
    loop = ExactlyOnceWorkerSourceTask(
        parts.poller, parts.batches, writer, boundary, parts.notifier, parts.metrics, time.monotonic
    )
    given = transactions if isinstance(boundary, ConnectorBoundary) else None
    context = WorkerSourceTaskContext(spec.task_config, LinkedOffsetStorageReader(link), given, link.frames)

    def init() -> None:
        parts.make_dead_letter_topic()
        writer.init()

    return RunnableSourceTask(
        spec, parts.task, context, parts.control, init, loop.run, (writer.close, parts.batches.close)
    )


def _at_least_once(parts: _Parts) -> RunnableSourceTask:
    spec, notifier = parts.spec, parts.notifier
    timeout = int(spec.worker_config.get("offset.flush.timeout.ms", 5_000)) / 1000
    producer = RecordProducer(spec.producer, every_delivery=True)
    committer = OffsetCommitter(
        producer,
        TopicOffsetWriter(producer, spec.offsets_topic) if spec.offsets_topic else LinkOffsetWriter(parts.link),
        _flush_interval(spec),
        timeout,
        _refused(parts, producer, timeout),
        remember=notifier.wants_records,
    )
    loop = WorkerSourceTask(parts.poller, parts.batches, committer, parts.notifier, parts.metrics, time.monotonic)
    reader = LinkedOffsetStorageReader(parts.link)
    context = WorkerSourceTaskContext(spec.task_config, reader, None, parts.link.frames)
    closing = (committer.close, parts.batches.close)
    # There is nobody to fence.
    return RunnableSourceTask(spec, parts.task, context, parts.control, parts.make_dead_letter_topic, loop.run, closing)


def _refused(parts: _Parts, producer: RecordProducer, timeout: float) -> RefusedRecords | None:
    if not parts.config.tolerates_errors:
        return None
    return RefusedRecords(producer, parts.errors, parts.dead_letters, _OPERATIONS[False], timeout)


def _transaction_timeout(spec: TaskSpec, boundary: Boundary, retry_timeout: float | None) -> float:
    """Seconds; the broker aborts older transactions and fences their producer, so an interval has to fit in.

    So have, as far as brokers allow by default, the retries of a record: others of its transaction may be written.
    """
    interval = boundary.interval if isinstance(boundary, IntervalBoundary) else 0.0
    given = spec.producer.get(TRANSACTION_TIMEOUT)
    if given is None:
        least = interval + 60.0
        if isinstance(boundary, PollBoundary):
            return least
        longest = max(least, _BROKERS_LONGEST_TRANSACTION)
        return longest if retry_timeout is None else min(least + retry_timeout, longest)
    timeout = int(given) / 1000
    if timeout <= interval:
        reason = f"transactions last transaction.boundary.interval.ms = {interval * 1000:g}, so it has to be larger"
        raise ConfigError.invalid(f"producer.override.{TRANSACTION_TIMEOUT}", given, reason)
    return timeout


def _flush_interval(spec: TaskSpec) -> float:
    return int(spec.worker_config.get("offset.flush.interval.ms", 60_000)) / 1000


class LinkedOffsetStorageReader(OffsetStorageReader):
    """Asks the worker, whose log of the offsets topics is read to the end first (invariant 3)."""

    def __init__(self, link: WorkerLink) -> None:
        self._link = link

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        return self.offsets([partition])[0]

    def offsets(self, partitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        found = self._link.read_offsets(list(partitions))
        return [None if offset is None else dict(offset) for offset in found]


class WorkerSourceTaskContext(SourceTaskContext):
    """``transaction_context`` is None unless the task defines its own boundaries."""

    def __init__(
        self,
        configs: Mapping[str, str],
        reader: OffsetStorageReader,
        transactions: TransactionContext | None,
        frames: Frames,
    ) -> None:
        self._configs = configs
        self._reader = reader
        self._transactions = transactions
        self._frames = frames

    def configs(self) -> Mapping[str, str]:
        return self._configs

    @property
    def offset_storage_reader(self) -> OffsetStorageReader:
        return self._reader

    @property
    def transaction_context(self) -> TransactionContext | None:
        return self._transactions

    @property
    def frames(self) -> Frames:
        return self._frames
