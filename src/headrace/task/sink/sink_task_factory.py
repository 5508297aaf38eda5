# SPDX-License-Identifier: Apache-2.0
"""Puts a sink task together in its process: the only place that knows all parts."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from headrace.api.errors import ConfigError
from headrace.api.record import SinkRecord
from headrace.api.sink import SinkTask
from headrace.config.client_configs import dead_letter_admin
from headrace.config.connector_config import KEY_CONVERTER, VALUE_CONVERTER
from headrace.config.distributed_config import GROUP_ID
from headrace.config.sink_connector_config import SinkConnectorConfig
from headrace.java.plugin import java_class_of
from headrace.kafka.admin.consumer_groups import ConsumerGroups
from headrace.kafka.admin.topic_ids import TopicIds
from headrace.kafka.data.sink_consumer import SinkConsumer
from headrace.metrics.plugin_metrics import OwnPluginMetrics
from headrace.task.assembly import TaskAssembly
from headrace.task.errors.processing_context import ConsumedRecord, Operation, Stage
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance
from headrace.task.frames.frame_chain import FrameChain
from headrace.task.frames.sink_frames import create_sink_frame_chain
from headrace.task.sink.errant_record_reporter import SinkDeadLetters, WorkerErrantRecordReporter
from headrace.task.sink.observed_batches import ObservedSinkBatches, TracedSinkBatches
from headrace.task.sink.sink_batch import PutBatches, RecordsOfMessages, SinkBatches
from headrace.task.sink.sink_committer import CommitTiming, SinkCommitter
from headrace.task.sink.sink_lag import SinkLag
from headrace.task.sink.sink_offset_commit import SinkOffsetCommit
from headrace.task.sink.sink_reading import ReadErrors, SinkReading
from headrace.task.sink.sink_record_converter import HeadersReader, Reader, SinkRecordConverter
from headrace.task.sink.sink_task_context import PartitionPauses, SinkTaskServices, WorkerSinkTaskContext
from headrace.task.sink.topic_subscription import TopicSubscription
from headrace.task.sink.worker_sink_task import Progress, SinkRebalances, SinkTaskRuntime, WorkerSinkTask
from headrace.task.task_spec import TaskSpec
from headrace.task.transformation_chain import TransformationChain, create_transformation_chain
from headrace.task.worker_link import TaskControl, WorkerLink

log = logging.getLogger(__name__)
Assembly: TypeAlias = TaskAssembly[SinkConnectorConfig, ConsumedRecord]
_MAX_POLL_RECORDS: Final = 5_000
"""Java's default is 500. A batch costs some tens of microseconds here, so that larger ones are worth it."""
_TOTALS: Final = (
    "sink-record-read-total",
    "sink-record-send-total",
    "offset-commit-seq-no",
    "offset-commit-completion-total",
    "offset-commit-skip-total",
    "offset-commit-failure-total",
)
_PUT: Final = Operation(Stage.TASK_PUT, "org.apache.kafka.connect.sink.SinkTask")


class RunnableSinkTask:
    """A sink task with the loop that drives it. ``headrace.task.worker_task.RunnableTask``."""

    def __init__(
        self,
        spec: TaskSpec,
        task: SinkTask,
        context: WorkerSinkTaskContext,
        init: Callable[[], None],
        execute: Callable[[], None],
        closing: tuple[Callable[[], None], ...],
    ) -> None:
        self._spec = spec
        self._task = task
        self._context = context
        self.init = init
        self.execute = execute
        self._closing = closing

    def start(self) -> None:
        self._task.initialize(self._context)
        self._task.start(self._spec.task_config)

    def close(self) -> None:
        try:
            self._task.stop()
        except BaseException:  # SystemExit too: the clients have to be closed
            log.exception("stop of task %s failed", self._spec.id)
        for close in self._closing:
            close()


def create_sink_task(spec: TaskSpec, link: WorkerLink, control: TaskControl) -> RunnableSinkTask:
    """Return the task that ``spec`` describes, not started, and in no group yet."""
    assembly: Assembly = TaskAssembly(spec, SinkConnectorConfig(spec.connector_config), link, control)
    task: SinkTask = assembly.create_task(SinkTask)
    records = _create_records(assembly, task)
    errors = ReadErrors(assembly.reports)
    consumer = SinkConsumer(spec.consumer, assembly.client_statistics(), errors.met)
    progress = Progress(SinkOffsetCommit(), PartitionPauses())
    consumer.pause_whenever(lambda: progress.pauses.paused(consumer.assignment))
    context = WorkerSinkTaskContext(
        spec.task_config,
        lambda: consumer.assignment,
        progress.pauses,
        consumer.apply_pauses,
        SinkTaskServices(
            consumer.committed,
            consumer.group_metadata,
            records.reporter,
            link.frames,
            TopicIds(spec.consumer),
            OwnPluginMetrics(assembly.plugin_metrics.registry),
        ),
    )
    timing = CommitTiming(assembly.flush_interval, assembly.flush_timeout, time.monotonic)
    committer = SinkCommitter(
        assembly.reports, task, consumer, progress.offsets, records.await_dead_letters, assembly.metrics, timing
    )
    batches = _create_batches(assembly, task, records)
    rebalances = SinkRebalances(task, context, progress, batches, committer, assembly.metrics)
    reading = _create_reading(assembly, consumer, rebalances, errors)
    assembly.metrics.declare(*_TOTALS)
    lag = SinkLag(consumer, progress.offsets, spec.consumer.get("client.id", ""), assembly.metrics)
    assembly.metrics.before_report(lag.refresh)
    runtime = SinkTaskRuntime(
        control, link, assembly.metrics, assembly.reports, _max_poll_records(spec), records.raise_intolerable
    )
    loop = WorkerSinkTask(consumer, reading, batches, committer, progress, context, runtime)

    def init() -> None:
        _remove_former_attempts(spec)
        assembly.create_dead_letter_topic(dead_letter_admin)

    closing = (assembly.metrics.report_last, consumer.close, batches.close, records.close, assembly.close_tracing)
    return RunnableSinkTask(spec, task, context, init, loop.execute, closing)


@dataclass(frozen=True, slots=True)
class _Records:
    """The parts that convert records, transform them and handle those that fail."""

    converter: SinkRecordConverter
    batches: RecordsOfMessages
    frames: FrameChain[Sequence[SinkRecord]] | None
    reporter: WorkerErrantRecordReporter | None
    dead_letters: SinkDeadLetters | None

    def await_dead_letters(self) -> None:
        if self.dead_letters is not None:
            self.dead_letters.await_all()

    def raise_intolerable(self) -> None:
        if self.reporter is not None:
            self.reporter.raise_intolerable()

    def close(self) -> None:
        if self.dead_letters is not None:
            self.dead_letters.close()


def _create_records(assembly: Assembly, task: SinkTask) -> _Records:
    config, plugins, queue = assembly.config, assembly.plugins, assembly.dead_letter_queue()
    dead_letters = SinkDeadLetters(queue.topic, assembly.spec.producer, assembly.metrics) if queue is not None else None
    errors = assembly.create_error_handling(dead_letters.send if dead_letters is not None else None)
    monitor = assembly.plugin_metrics.monitor
    reportable = dead_letters is not None or config.error_handling.log
    if assembly.has_frame_steps:
        # A record that fails after a step on frames is reported as it was consumed.
        converter = _create_converter(assembly, TransformationChain((), errors), errors, reportable=True)
        frames = create_sink_frame_chain(config, plugins, errors, assembly.link.frames, converter.original, monitor)
        batches: RecordsOfMessages = converter
    else:
        chain = create_transformation_chain(config, plugins, errors, monitor)
        if chain.uses_java:
            # A process without a JVM imports none of it.
            from headrace.task.java_runs import chain_with_java_runs

            chain = chain_with_java_runs(assembly, chain, errors, java_task=False)
        converter, frames = _create_converter(assembly, chain, errors, reportable=reportable), None
        batches = _in_java(assembly, task, chain, converter, errors) or converter
    reporter = WorkerErrantRecordReporter(_PUT, errors, converter.original, dead_letters) if reportable else None
    return _Records(converter, batches, frames, reporter, dead_letters)


def _in_java(
    assembly: Assembly,
    task: SinkTask,
    chain: TransformationChain[ConsumedRecord, SinkRecord],
    converter: SinkRecordConverter,
    errors: RetryWithTolerance[ConsumedRecord],
) -> RecordsOfMessages | None:
    if java_class_of(type(task)) is None:
        return None
    # A process without a JVM imports none of it.
    from headrace.task.sink.java_sink_records import create_java_converter

    return create_java_converter(assembly, chain, converter, errors)


def _create_batches(assembly: Assembly, task: SinkTask, records: _Records) -> PutBatches:
    spec = assembly.spec
    batches: PutBatches = SinkBatches(task, records.batches, records.frames)
    if assembly.schemas is not None:
        batches = ObservedSinkBatches(batches, assembly.schemas)
    if assembly.tracing.provider is not None:
        batches = TracedSinkBatches(batches, assembly.tracing, spec.id, spec.consumer[GROUP_ID])
    return batches


def _create_reading(
    assembly: Assembly, consumer: SinkConsumer, rebalances: SinkRebalances, errors: ReadErrors
) -> SinkReading:
    subscription = TopicSubscription(
        assembly.spec.id,
        assembly.config,
        assembly.reports,
        consumer,
        lambda topics: consumer.subscribe(topics, rebalances),
        _metadata_max_age(assembly.spec),
        time.monotonic,
    )
    return SinkReading(consumer, subscription, errors, assembly.metrics.progress)


def _create_converter(
    assembly: Assembly,
    chain: TransformationChain[ConsumedRecord, SinkRecord],
    errors: RetryWithTolerance[ConsumedRecord],
    *,
    reportable: bool,
) -> SinkRecordConverter:
    operation, create_header_converter = assembly.converters.header_converter()
    return SinkRecordConverter(
        Reader(*assembly.converters.create_converter(KEY_CONVERTER)),
        Reader(*assembly.converters.create_converter(VALUE_CONVERTER)),
        HeadersReader(operation, create_header_converter()),
        chain,
        errors,
        reportable=reportable,
    )


def _remove_former_attempts(spec: TaskSpec) -> None:
    """Remove former attempts from the group: their partitions are free at once, and a zombie commits no more.

    Invariant 9. They are found by the task's client id; where a user has set the same for all tasks, they stay.
    """
    group, client_id = spec.consumer[GROUP_ID], spec.consumer.get("client.id", "")
    if client_id == f"connector-consumer-{spec.id}":
        removed = ConsumerGroups(spec.consumer).remove_members(group, client_id)
        if removed:
            log.info("Task %s: a former attempt was removed from group '%s'", spec.id, group)


def _max_poll_records(spec: TaskSpec) -> int:
    given = spec.consumer.get("max.poll.records")
    if given is None:
        return _MAX_POLL_RECORDS
    if not given.strip().isdigit() or int(given) < 1:
        raise ConfigError.invalid("consumer.override.max.poll.records", given, "must be a whole number from 1 on")
    return int(given)


def _metadata_max_age(spec: TaskSpec) -> float:
    return int(spec.consumer.get("metadata.max.age.ms", 300_000)) / 1000
