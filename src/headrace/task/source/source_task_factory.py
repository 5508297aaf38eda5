# SPDX-License-Identifier: Apache-2.0
"""Puts a source task together in its process: the only place that knows all parts."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from headrace.api.frames import Frames
from headrace.api.plugin_metrics import PluginMetrics
from headrace.api.record import SourceRecord
from headrace.api.source import CommittedRecord, OffsetStorageReader, SourceTask, SourceTaskContext, TransactionContext
from headrace.config.client_configs import source_offsets_consumer, source_task_admin
from headrace.config.source_connector_config import SourceConnectorConfig
from headrace.config.topic_creation import topic_groups, uses_topic_creation
from headrace.config.worker_config import BOOTSTRAP_SERVERS, WorkerConfig
from headrace.java.plugin import java_class_of
from headrace.kafka.data.record_producer import RecordProducer
from headrace.kafka.data.transactional_producer import TransactionalProducer
from headrace.kafka.errors import TopicAuthorizationError
from headrace.metrics.plugin_metrics import OwnPluginMetrics
from headrace.storage.offset_backing_store import unusable
from headrace.task.assembly import TaskAssembly
from headrace.task.errors.processing_context import Operation, Stage
from headrace.task.errors.reporters import DeadLetter
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance
from headrace.task.frames.frame_chain import create_frame_chain
from headrace.task.frames.frame_step import FrameRunner
from headrace.task.record_converter import create_record_converter
from headrace.task.source.exactly_once_worker_source_task import ExactlyOnceWorkerSourceTask
from headrace.task.source.frame_batches import GATHERED, FrameBatches
from headrace.task.source.offset_committer import LinkOffsetWriter, OffsetCommitter, TopicOffsetWriter
from headrace.task.source.record_sizes import MAX_REQUEST_SIZE, OversizedRecords, SizeLimits, topic_limits
from headrace.task.source.source_batch import SHOWN_OFFSETS, Batches, SourceBatches, SourceDeadLetters, SteppedBatches
from headrace.task.source.source_lag import SourceLag
from headrace.task.source.source_task_calls import CommitNotifier, Poller
from headrace.task.source.submitted_records import RefusedRecords
from headrace.task.source.traced_writer import TracedTransactionalWriter
from headrace.task.source.transaction_boundary import (
    TRANSACTION_TIMEOUT,
    ConnectorBoundary,
    PollBoundary,
    WorkerTransactionContext,
    create_boundary,
    transaction_timeout,
)
from headrace.task.source.transaction_commits import TransactionCommits
from headrace.task.source.transactional_writer import TransactionalWriter, TransactionWriter
from headrace.task.source.worker_source_task import WorkerSourceTask
from headrace.task.task_protocol import ReadOffsets
from headrace.task.task_spec import TaskSpec
from headrace.task.transformation_chain import create_transformation_chain
from headrace.task.worker_link import TaskControl, WorkerLink

log = logging.getLogger(__name__)
Assembly: TypeAlias = TaskAssembly[SourceConnectorConfig, SourceRecord]
ReadTopic: TypeAlias = Callable[[str], Iterator[CommittedRecord]]
"""``SourceTaskContext.read_topic``."""
_STOP_TIMEOUT: Final = 5.0
_DEFAULT_MAX_REQUEST_SIZE: Final = 1_048_576
_RUNTIME: Final = "org.apache.kafka.connect.runtime"
_PRODUCE: Final = {
    exactly_once: Operation(Stage.KAFKA_PRODUCE, f"{_RUNTIME}.{name}")
    for exactly_once, name in ((True, "ExactlyOnceWorkerSourceTask"), (False, "WorkerSourceTask"))
}


class LinkedOffsetStorageReader(OffsetStorageReader):
    """Asks the worker, which reads its log of the offsets topics to the end first (invariant 3)."""

    def __init__(self, link: WorkerLink) -> None:
        self._link = link

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        return self.offsets([partition])[0]

    def offsets(self, partitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        wanted = list(partitions)
        found = self._link.ask(ReadOffsets(wanted))
        if log.isEnabledFor(logging.DEBUG):
            first = list(zip(wanted, found, strict=True))[:SHOWN_OFFSETS]
            log.debug("The offsets of %d source partitions were read, the first: %s", len(found), first)
        return [None if offset is None else dict(offset) for offset in found]


class WorkerSourceTaskContext(SourceTaskContext):
    """``transaction_context`` is None unless the task defines its own boundaries."""

    def __init__(
        self,
        configs: Mapping[str, str],
        reader: OffsetStorageReader,
        transactions: TransactionContext | None,
        frames: Frames,
        plugin_metrics: PluginMetrics,
        read_topic: ReadTopic,
    ) -> None:
        self._read_topic = read_topic
        self._plugin_metrics = plugin_metrics
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

    def plugin_metrics(self) -> PluginMetrics:
        return self._plugin_metrics

    def read_topic(self, topic: str) -> Iterator[CommittedRecord]:
        return self._read_topic(topic)


class RunnableSourceTask:
    """A source task with the loop that drives it. ``headrace.task.worker_task.RunnableTask``."""

    def __init__(
        self,
        spec: TaskSpec,
        task: SourceTask,
        context: WorkerSourceTaskContext,
        control: TaskControl,
        init: Callable[[], None],
        execute: Callable[[], None],
        closing: tuple[Callable[[], None], ...],
    ) -> None:
        self._spec = spec
        self._task = task
        self._context = context
        self._control = control
        self.init = init
        self._execute = execute
        self._closing = closing
        self._stopped = threading.Event()
        """The task does not run, or its ``stop`` has returned."""
        self._stopped.set()

    def start(self) -> None:
        self._task.initialize(self._context)
        if type(self._task).wakeup is not SourceTask.wakeup:
            self._control.on_pause(self._wake_task_up)
        self._stopped.clear()
        if self._control.on_stop(self._stop_task):
            self._task.start(self._spec.task_config)
        else:
            self._stopped.set()

    def execute(self) -> None:
        try:
            self._execute()
        except TopicAuthorizationError as error:
            if error.topic != self._spec.offsets_topic:
                raise
            servers = self._spec.producer[BOOTSTRAP_SERVERS]
            raise (unusable(self._spec.connector_config, error.topic, servers, error) or error) from error

    def close(self) -> None:
        # A task that has ended by itself is stopped too: on another thread as always, in case its stop hangs.
        threading.Thread(target=self._control.stop, name="task-stop", daemon=True).start()
        self._stopped.wait(_STOP_TIMEOUT)
        for close in self._closing:
            close()

    def _wake_task_up(self) -> None:
        # On a thread of its own, as stop: should it hang, the worker's requests are still heard.
        threading.Thread(target=self._call_wakeup, name="task-wakeup", daemon=True).start()

    def _call_wakeup(self) -> None:
        try:
            self._task.wakeup()
        except BaseException:  # as in a stop
            log.exception("wakeup of task %s failed", self._spec.id)

    def _stop_task(self) -> None:
        try:
            self._task.stop()
        except BaseException:  # SystemExit too would end this thread silently
            log.exception("stop of task %s failed", self._spec.id)
        finally:
            self._stopped.set()


def topic_reading(assembly: Assembly) -> ReadTopic:
    """Return what reads a topic in the cluster of the task's producer."""

    def read_topic(topic: str) -> Iterator[CommittedRecord]:
        # Hardly any task reads its topics.
        from headrace.task.source.committed_records import committed_records

        return committed_records(assembly.client_properties(source_offsets_consumer), topic)

    return read_topic


def create_source_task(spec: TaskSpec, link: WorkerLink, control: TaskControl) -> RunnableSourceTask:
    """Return the task that ``spec`` describes, not started and without any connection yet."""
    assembly: Assembly = TaskAssembly(spec, SourceConnectorConfig(spec.connector_config), link, control)
    task: SourceTask = assembly.create_task(SourceTask)
    queue, limits = assembly.dead_letter_queue(), _size_limits(assembly)
    dead_letters = SourceDeadLetters(queue.topic) if queue is not None else None

    def fits(letter: DeadLetter) -> bool:
        return queue is None or limits.check(queue.topic, letter.key, letter.value, letter.headers) is None

    errors = assembly.create_error_handling(dead_letters.add if dead_letters is not None else None, fits)
    notifier = CommitNotifier(task, link, assembly.reports)
    batches = _create_batches(assembly, task, errors, dead_letters, remember=notifier.wants_records)
    batches = _with_topic_creation(batches, assembly)
    if assembly.config.tolerates_errors:
        oversized = OversizedRecords(limits, errors, dead_letters, _PRODUCE[spec.exactly_once])
        batches = SteppedBatches(batches, oversized.remove)
    assembly.metrics.declare("source-record-poll-total", "source-record-write-total", "offset-commit-failure-total")
    if (lag := SourceLag(spec.id, task, control.progress)).is_known:
        assembly.metrics.before_report(lag.refresh)
    parts = _Parts(assembly, task, batches, notifier, errors, dead_letters)
    return _exactly_once(parts) if spec.exactly_once else _at_least_once(parts)


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts that both kinds of source tasks have."""

    assembly: Assembly
    task: SourceTask
    batches: Batches
    notifier: CommitNotifier
    errors: RetryWithTolerance[SourceRecord]
    dead_letters: SourceDeadLetters | None

    @property
    def poller(self) -> Poller:
        assembly = self.assembly
        return Poller(self.task, assembly.control, assembly.link, assembly.metrics, assembly.reports)

    def context(self, transactions: TransactionContext | None) -> WorkerSourceTaskContext:
        assembly, link = self.assembly, self.assembly.link
        reader, metrics = LinkedOffsetStorageReader(link), OwnPluginMetrics(assembly.plugin_metrics.registry)
        config, read_topic = assembly.spec.task_config, topic_reading(assembly)
        return WorkerSourceTaskContext(config, reader, transactions, link.frames, metrics, read_topic)


def _create_batches(
    assembly: Assembly,
    task: SourceTask,
    errors: RetryWithTolerance[SourceRecord],
    dead_letters: SourceDeadLetters | None,
    *,
    remember: bool,
) -> Batches:
    spec, config, plugins = assembly.spec, assembly.config, assembly.plugins
    monitor = assembly.plugin_metrics.monitor
    observe = assembly.schemas.observe if assembly.schemas is not None else lambda batch: None
    converter, name = create_record_converter(assembly.converters, errors, observe), spec.id.connector
    if not assembly.has_frame_steps:
        chain = create_transformation_chain(config, plugins, errors, monitor)
        if java_task := java_class_of(type(task)) is not None:
            # A process without a JVM imports none of it.
            from headrace.task.source.java_batches import JavaBatches
            from headrace.task.source.java_steps import create_java_steps

            if (steps := create_java_steps(assembly, chain, converter)) is not None:
                return JavaBatches(name, steps, errors, dead_letters, observe, remember=remember)
        if java_task or chain.uses_java:
            from headrace.task.java_runs import chain_with_java_runs

            chain = chain_with_java_runs(assembly, chain, errors, java_task=java_task)
        return SourceBatches(name, chain, converter, dead_letters, remember=remember)
    runner = FrameRunner(
        assembly.link.frames, config.error_handling, assembly.control.wait_for_stop, reports=assembly.reports
    )
    frames = create_frame_chain(config, plugins, errors, runner, monitor)
    # Without transactions each poll is sent by itself: no boundary says when kept records have to be sent.
    gather = GATHERED if spec.exactly_once else 1
    return FrameBatches(name, frames, converter, dead_letters, remember=remember, gather=gather)


def _with_topic_creation(batches: Batches, assembly: Assembly) -> Batches:
    """Have the task create the topics that ``batches`` go to, if worker and connector say so."""
    config = assembly.config.raw
    if not uses_topic_creation(config) or not WorkerConfig(assembly.spec.worker_config).topic_creation_enabled:
        return batches
    # Few tasks create topics, and the admin client takes time to import.
    from headrace.kafka.admin.topic_admin import TopicAdmin
    from headrace.task.source.topic_creation import TopicCreation

    admin = assembly.client_properties(source_task_admin)
    creation = TopicCreation(
        topic_groups(config), lambda: TopicAdmin(admin), assembly.control.wait_for_stop, assembly.reports
    )
    return SteppedBatches(batches, creation.ensure_topics)


def _size_limits(assembly: Assembly) -> SizeLimits:
    producer = assembly.spec.producer
    # librdkafka's own name of the property may be used too.
    given = producer.get("message.max.bytes") or producer.get(MAX_REQUEST_SIZE)
    client = int(given or _DEFAULT_MAX_REQUEST_SIZE)
    if producer.get("compression.type", "none") != "none":
        return SizeLimits(client, None)
    return SizeLimits(client, topic_limits(assembly.client_properties(source_task_admin)))


def _exactly_once(parts: _Parts) -> RunnableSourceTask:
    assembly, remember = parts.assembly, parts.notifier.wants_records
    spec, transactions = assembly.spec, WorkerTransactionContext()
    boundary = create_boundary(spec.connector_config, assembly.flush_interval, time.monotonic, transactions)
    timeout = transaction_timeout(spec.producer, boundary, assembly.config.error_handling.retry_timeout)
    properties = {**spec.producer, TRANSACTION_TIMEOUT: str(round(timeout * 1000))}
    statistics = assembly.client_statistics()
    producer = TransactionalProducer(properties, every_delivery=remember, statistics=statistics)
    producer.records.on_transport_error = assembly.reports.transport_error
    writer: TransactionWriter = TransactionalWriter(producer, spec.offsets_topic, timeout, remember=remember)
    if assembly.tracing.provider is not None:
        writer = TracedTransactionalWriter(writer, assembly.tracing, spec.id)
    beside_polls = isinstance(boundary, PollBoundary) and parts.task.polls_ahead
    commits = TransactionCommits(writer, parts.notifier, assembly.metrics, time.monotonic, beside_polls=beside_polls)
    if statistics is not None:
        # A commit that runs serves it by itself, on its thread.
        _serve_before_reports(assembly, lambda: None if commits.running else producer.records.serve())
    loop = ExactlyOnceWorkerSourceTask(
        parts.poller, parts.batches, writer, boundary, commits, assembly.metrics, time.monotonic
    )
    context = parts.context(transactions if isinstance(boundary, ConnectorBoundary) else None)

    def init() -> None:
        assembly.create_dead_letter_topic(source_task_admin)
        writer.init()

    assembly.metrics.declare("transactions-committed-total", "transactions-aborted-total")
    closing = (assembly.metrics.report_last, commits.close, writer.close, parts.batches.close, assembly.close_tracing)
    execute = _with_stop_after_commits(loop.execute, parts.task)
    return RunnableSourceTask(spec, parts.task, context, assembly.control, init, execute, closing)


def _with_stop_after_commits(execute: Callable[[], None], task: SourceTask) -> Callable[[], None]:
    """Have a task in Java stopped after its last commit, as in Java Connect."""
    if java_class_of(type(task)) is None:
        return execute
    from headrace.java.source_task import JavaSourceTask

    assert isinstance(task, JavaSourceTask)
    return task.committing()(execute)


def _serve_before_reports(assembly: Assembly, serve: Callable[[], None]) -> None:
    """Poll the producer about once a second: its statistics are kept in memory until then.

    A task that is paused, or has no records, does not poll it otherwise.
    """
    assembly.metrics.before_report(serve)


def _at_least_once(parts: _Parts) -> RunnableSourceTask:
    assembly, spec = parts.assembly, parts.assembly.spec
    statistics, timeout = assembly.client_statistics(), assembly.flush_timeout
    producer = RecordProducer(spec.producer, every_delivery=True, statistics=statistics)
    producer.on_transport_error = assembly.reports.transport_error
    if statistics is not None:
        _serve_before_reports(assembly, producer.serve)
    refused = None
    if assembly.config.tolerates_errors:
        refused = RefusedRecords(producer, parts.errors, parts.dead_letters, _PRODUCE[False], timeout)
    committer = OffsetCommitter(
        producer,
        TopicOffsetWriter(producer, spec.offsets_topic) if spec.offsets_topic else LinkOffsetWriter(assembly.link),
        assembly.flush_interval,
        timeout,
        refused,
        remember=parts.notifier.wants_records,
        reports=assembly.reports,
    )
    loop = WorkerSourceTask(parts.poller, parts.batches, committer, parts.notifier, assembly.metrics, time.monotonic)

    def init() -> None:
        # Without transactions there is no older attempt to fence.
        assembly.create_dead_letter_topic(source_task_admin)

    closing = (assembly.metrics.report_last, committer.close, parts.batches.close)
    execute = _with_stop_after_commits(loop.execute, parts.task)
    return RunnableSourceTask(spec, parts.task, parts.context(None), assembly.control, init, execute, closing)
