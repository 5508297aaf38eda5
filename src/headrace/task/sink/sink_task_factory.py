# SPDX-License-Identifier: Apache-2.0
"""Puts a sink task together in its process: the only place that knows all parts."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from headrace.api.errors import ConfigError
from headrace.api.record import SinkRecord
from headrace.api.sink import SinkTask
from headrace.config.client_configs import dead_letter_admin
from headrace.config.connector_config import DLQ_TOPIC, ERRORS_TOLERANCE
from headrace.config.distributed_config import GROUP_ID
from headrace.config.sink_connector_config import SinkConnectorConfig
from headrace.config.worker_config import WorkerConfig
from headrace.kafka.admin.consumer_groups import ConsumerGroups
from headrace.kafka.admin.topic_ids import TopicIds
from headrace.kafka.data.sink_consumer import SinkConsumer
from headrace.plugins.builtin import PluginKind
from headrace.plugins.discovery import Plugins, plugins_of
from headrace.task.errors.processing_context import ConsumedRecord, Operation, Stage
from headrace.task.errors.reporters import DeadLetterQueueReporter, LogReporter
from headrace.task.errors.retry_with_tolerance import ErrorReporter, RetryWithTolerance
from headrace.task.frames.frame_chain import has_frame_steps
from headrace.task.frames.sink_frames import sink_frame_chain
from headrace.task.record_converter import named_converter
from headrace.task.sink.errant_record_reporter import SinkDeadLetters, WorkerErrantRecordReporter
from headrace.task.sink.sink_batch import SinkBatches
from headrace.task.sink.sink_committer import CommitTiming, SinkCommitter
from headrace.task.sink.sink_offset_commit import SinkOffsetCommit
from headrace.task.sink.sink_record_converter import HeadersReader, Reader, SinkRecordConverter
from headrace.task.sink.sink_task_context import PartitionPauses, WorkerSinkTaskContext
from headrace.task.sink.topic_subscription import TopicSubscription
from headrace.task.sink.worker_sink_task import Progress, SinkRebalances, Surroundings, WorkerSinkTask
from headrace.task.task_metrics import TaskMetrics
from headrace.task.task_spec import TaskSpec
from headrace.task.transformation_chain import TransformationChain, transformation_chain
from headrace.task.worker_link import TaskControl, WorkerLink

_log = logging.getLogger(__name__)
_MAX_POLL_RECORDS: Final = 5_000
"""Java's default is 500. A batch costs some tens of microseconds here, so that larger ones are worth it."""


class RunnableSinkTask:
    """A sink task with the loop that drives it. ``headrace.task.worker_task.RunnableTask``."""

    def __init__(
        self,
        spec: TaskSpec,
        task: SinkTask,
        context: WorkerSinkTaskContext,
        init: Callable[[], None],
        loop: Callable[[], None],
        closing: tuple[Callable[[], None], ...],
    ) -> None:
        self._spec = spec
        self._task = task
        self._context = context
        self._closing = closing
        self.init = init
        self.run = loop

    def start(self) -> None:
        self._task.initialize(self._context)
        self._task.start(self._spec.task_config)

    def close(self) -> None:
        try:
            self._task.stop()
        except BaseException:  # SystemExit too: what is open is to be closed
            _log.exception("stop of task %s failed", self._spec.id)
        for close in self._closing:
            close()


def sink_task(spec: TaskSpec, link: WorkerLink, control: TaskControl) -> RunnableSinkTask:
    """The task that ``spec`` describes, not started, and in no group yet."""
    plugins = plugins_of(spec.worker_config)
    task_class = plugins.task(spec.task_class)
    if not issubclass(task_class, SinkTask):
        raise ConfigError.invalid("task.class", spec.task_class, f"task {spec.id} needs a SinkTask")
    config, task = SinkConnectorConfig(spec.connector_config), task_class()
    metrics = TaskMetrics(link.metrics, time.monotonic)
    letters = _dead_letters(spec, config)
    errors = _errors(spec, config, letters, metrics, control)
    reportable = letters is not None or config.error_handling.log
    by_frames = has_frame_steps(config, plugins)
    converter = _converter(
        spec,
        plugins,
        TransformationChain((), errors) if by_frames else transformation_chain(config, plugins, errors),
        errors,
        # A record that fails behind a step on frames has to be told as it was consumed.
        reportable or by_frames,
    )
    frames = sink_frame_chain(config, plugins, errors, link.frames, converter.original) if by_frames else None
    reporter = None
    if reportable:
        operation = Operation(Stage.TASK_PUT, _JAVAS_NAME)
        reporter = WorkerErrantRecordReporter(operation, errors, converter.original, letters)

    consumer = SinkConsumer(spec.consumer)
    progress = Progress(SinkOffsetCommit(), PartitionPauses())
    consumer.pause_whenever(lambda: progress.pauses.wanted(consumer.assignment))
    context = WorkerSinkTaskContext(
        spec.task_config,
        lambda: consumer.assignment,
        progress.pauses,
        consumer.apply_pauses,
        reporter,
        link.frames,
        TopicIds(spec.consumer),
    )
    timing = CommitTiming(
        _seconds(spec, "offset.flush.interval.ms", 60_000),
        _seconds(spec, "offset.flush.timeout.ms", 5_000),
        time.monotonic,
    )
    committer = SinkCommitter(
        spec.id, task, consumer, progress.offsets, letters.await_all if letters else _nothing, metrics, timing
    )
    batches = SinkBatches(task, converter, frames)
    rebalances = SinkRebalances(task, context, progress, batches, committer, metrics)
    subscription = TopicSubscription(
        spec.id,
        config,
        consumer,
        lambda topics: consumer.subscribe(topics, rebalances),
        _metadata_age(spec),
        time.monotonic,
    )
    around = Surroundings(control, link, metrics, _limit(spec), reporter.raise_intolerable if reporter else _nothing)
    loop = WorkerSinkTask(consumer, subscription, batches, committer, progress, context, around)
    closing = (consumer.close, batches.close, *((letters.close,) if letters else ()))
    return RunnableSinkTask(spec, task, context, lambda: _init(spec, config), loop.run, closing)


_JAVAS_NAME: Final = "org.apache.kafka.connect.sink.SinkTask"


def _init(spec: TaskSpec, config: SinkConnectorConfig) -> None:
    _expel_former_attempts(spec)
    queue = config.dead_letter_queue
    if queue is not None and config.tolerates_errors:
        # Few tasks have one, and the admin client takes time to import.
        from headrace.task.errors.dead_letter_topic import create_dead_letter_topic

        worker = WorkerConfig(spec.worker_config)
        create_dead_letter_topic(queue, dead_letter_admin(worker, config.raw, spec.id.task))


def _expel_former_attempts(spec: TaskSpec) -> None:
    """What a former attempt still holds is this one's at once, and a zombie commits no more (invariant 9).

    They are known by the task's client id; where a user has given all tasks the same, nobody can tell them apart.
    """
    group, client_id = spec.consumer[GROUP_ID], spec.consumer.get("client.id", "")
    if client_id == f"connector-consumer-{spec.id}":
        expelled = ConsumerGroups(spec.consumer).expel(group, client_id)
        if expelled:
            _log.info("Task %s: a former attempt was removed from group '%s'", spec.id, group)


def _dead_letters(spec: TaskSpec, config: SinkConnectorConfig) -> SinkDeadLetters | None:
    queue = config.dead_letter_queue
    if queue is None:
        return None
    if not config.tolerates_errors:
        message = "Task %s: %s=%s is without effect, as %s=none lets no record be set aside"
        _log.warning(message, spec.id, DLQ_TOPIC, queue.topic, ERRORS_TOLERANCE)
    return SinkDeadLetters(queue.topic, spec.producer)


def _errors(
    spec: TaskSpec,
    config: SinkConnectorConfig,
    letters: SinkDeadLetters | None,
    metrics: TaskMetrics,
    control: TaskControl,
) -> RetryWithTolerance[ConsumedRecord]:
    handling, queue = config.error_handling, config.dead_letter_queue
    reporters: list[ErrorReporter[ConsumedRecord]] = [LogReporter(spec.id, handling, metrics)]
    if queue is not None and letters is not None:
        reporters.append(DeadLetterQueueReporter(spec.id, queue.context_headers, letters.send, metrics))
    return RetryWithTolerance(handling, reporters, metrics, control.wait_for_stop)


def _converter(
    spec: TaskSpec,
    plugins: Plugins,
    chain: TransformationChain[ConsumedRecord, SinkRecord],
    errors: RetryWithTolerance[ConsumedRecord],
    reportable: bool,
) -> SinkRecordConverter:
    name, properties = named_converter("header.converter", spec.connector_config, spec.worker_config)
    header_class = plugins.header_converter(name, "header.converter")
    header_converter = header_class()
    header_converter.configure(properties)
    operation = Operation(Stage.HEADER_CONVERTER, plugins.class_name(PluginKind.HEADER_CONVERTER, header_class))
    return SinkRecordConverter(
        _reader("key.converter", spec, plugins),
        _reader("value.converter", spec, plugins),
        HeadersReader(operation, header_converter),
        chain,
        errors,
        reportable=reportable,
    )


def _reader(property: str, spec: TaskSpec, plugins: Plugins) -> Reader:
    name, properties = named_converter(property, spec.connector_config, spec.worker_config)
    cls, is_key = plugins.converter(name, property), property == "key.converter"
    converter = cls()
    converter.configure(properties, is_key)
    stage = Stage.KEY_CONVERTER if is_key else Stage.VALUE_CONVERTER
    return Reader(Operation(stage, plugins.class_name(PluginKind.CONVERTER, cls)), converter)


def _limit(spec: TaskSpec) -> int:
    given = spec.consumer.get("max.poll.records")
    if given is None:
        return _MAX_POLL_RECORDS
    if not given.strip().isdigit() or int(given) < 1:
        raise ConfigError.invalid("consumer.override.max.poll.records", given, "must be a whole number from 1 on")
    return int(given)


def _metadata_age(spec: TaskSpec) -> float:
    return int(spec.consumer.get("metadata.max.age.ms", 300_000)) / 1000


def _seconds(spec: TaskSpec, name: str, default: int) -> float:
    return int(spec.worker_config.get(name, default)) / 1000


def _nothing() -> None:
    """Where there is nothing to wait for or to raise."""
