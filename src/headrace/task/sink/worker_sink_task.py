# SPDX-License-Identifier: Apache-2.0
"""The loop of a sink task: consume → convert → transform → put, and commit at intervals.

Java: ``WorkerSinkTask``. All code of the plugin runs on the task's thread, and so do rebalances.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from headrace.api.error_text import error_text
from headrace.api.errors import RetriableError
from headrace.api.sink import SinkTask, TopicPartition
from headrace.kafka.data.consumed_messages import ConsumedMessages
from headrace.kafka.data.sink_consumer import SinkConsumer
from headrace.model.backoff import ExponentialBackoff
from headrace.model.health import Stage
from headrace.task.errors.error_reports import ErrorReports
from headrace.task.errors.retry_with_tolerance import StoppedWhileRetryingError, ToleranceExceededError
from headrace.task.frames.frame_step import FrameJobNotRunError
from headrace.task.sink.sink_batch import PutBatches, SinkBatch
from headrace.task.sink.sink_committer import SinkCommitter
from headrace.task.sink.sink_offset_commit import SinkOffsetCommit
from headrace.task.sink.sink_reading import SinkReading
from headrace.task.sink.sink_task_context import PartitionPauses, WorkerSinkTaskContext
from headrace.task.task_metrics import TaskMetrics
from headrace.task.task_protocol import Paused, Running, TopicsUsed
from headrace.task.worker_link import TaskControl, WorkerLink

log = logging.getLogger(__name__)
_MAX_WAIT: Final = 0.1
"""Seconds until a stop or a pause is noticed at the latest: nothing else ends a wait of the client's."""
_BACKOFF: Final = ExponentialBackoff(0.1, 10.0)


@dataclass(slots=True)
class Progress:
    """The state that rebalances and the loop share. ``batch`` has to be put again, as task or Spark refused it."""

    offsets: SinkOffsetCommit
    pauses: PartitionPauses
    batch: SinkBatch | None = None


@dataclass(frozen=True, slots=True)
class SinkTaskRuntime:
    """The loop's connection to its worker, its metrics and its settings.

    ``max_poll_records`` limits the messages of a batch. ``after_put`` raises errors that the task may not swallow.
    """

    control: TaskControl
    link: WorkerLink
    metrics: TaskMetrics
    reports: ErrorReports
    max_poll_records: int
    after_put: Callable[[], None]
    clock: Callable[[], float] = time.monotonic


class SinkRebalances:
    """Opens and closes partitions. ``headrace.kafka.data.rebalance_listener.RebalanceListener``."""

    def __init__(
        self,
        task: SinkTask,
        context: WorkerSinkTaskContext,
        progress: Progress,
        batches: PutBatches,
        committer: SinkCommitter,
        metrics: TaskMetrics,
    ) -> None:
        self._task = task
        self._context = context
        self._progress = progress
        self._batches = batches
        self._committer = committer
        self._metrics = metrics

    def assigned(
        self, partitions: Sequence[TopicPartition], committed: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int]:
        offsets = self._progress.offsets
        offsets.add_partitions(committed)
        self._report_partition_count()
        if log.isEnabledFor(logging.DEBUG):
            log.debug("Assigned: %s", {str(each): committed.get(each) for each in partitions})
        if not partitions:
            return {}
        self._task.open(partitions)
        requested = self._context.take_offsets(partitions)
        offsets.rewind(requested)
        return requested

    def revoked(self, partitions: Sequence[TopicPartition]) -> None:
        try:
            self._committer.close_partitions(partitions)
        finally:
            self._remove_partitions(partitions)

    def lost(self, partitions: Sequence[TopicPartition]) -> None:
        try:
            self._committer.close_lost_partitions(partitions)
        finally:
            self._remove_partitions(partitions)

    def _remove_partitions(self, partitions: Sequence[TopicPartition]) -> None:
        progress = self._progress
        # A seek in close does not hold when the partition is assigned again: another member may have gone on.
        self._context.take_offsets(partitions)
        progress.pauses.remove_partitions(set(partitions))
        if progress.batch is not None:
            progress.batch = self._batches.without(progress.batch, partitions)
        self._report_partition_count()

    def _report_partition_count(self) -> None:
        self._metrics.gauge("partition-count", len(self._context.assignment()))


class WorkerSinkTask:
    """One attempt's loop."""

    def __init__(
        self,
        consumer: SinkConsumer,
        reading: SinkReading,
        batches: PutBatches,
        committer: SinkCommitter,
        progress: Progress,
        context: WorkerSinkTaskContext,
        runtime: SinkTaskRuntime,
    ) -> None:
        self._consumer = consumer
        self._reading = reading
        self._batches = batches
        self._committer = committer
        self._progress = progress
        self._context = context
        self._runtime = runtime
        self._failures = 0
        self._retry: float | None = None
        """Seconds to wait before the batch is put again, once they are known."""

    def execute(self) -> None:
        """Run until the task is asked to stop and its last offsets are committed."""
        try:
            # A record that is still retried when the task is to stop was not put, nor is its offset committed.
            with suppress(StoppedWhileRetryingError):
                while not self._runtime.control.stopping:
                    self._iterate()
        except BaseException:
            failed_in = self._runtime.metrics.progress.stage
            try:
                self._close_all()
            except Exception:
                log.exception("closing the partitions of a task that failed")
            self._runtime.metrics.progress.enter(failed_in)
            raise
        self._close_all()

    def _iterate(self) -> None:
        self._rewind()
        self._pause_or_resume()
        with self._consumer.busy():
            self._commit_if_due()
        messages = self._next_messages()
        # Of partitions that the task keeps at a rebalance and seeks in within close, what was read before is old.
        if sought := self._rewind():
            messages = messages.within(self._consumer.assignment - sought)
        with self._consumer.busy():
            self._deliver(messages)
        self._runtime.metrics.report_if_due()

    def _close_all(self) -> None:
        self._committer.close_partitions(sorted(self._consumer.assignment))

    def _rewind(self) -> Set[TopicPartition]:
        """Seek as the task has asked; return the partitions."""
        offsets = self._context.take_offsets(self._consumer.assignment)
        if offsets:
            self._consumer.seek(offsets)
            self._progress.offsets.rewind(offsets)
        return offsets.keys()

    def _pause_or_resume(self) -> None:
        runtime, pauses = self._runtime, self._progress.pauses
        if runtime.control.paused == pauses.connector or runtime.control.stopping:
            return
        pauses.connector = runtime.control.paused
        self._consumer.apply_pauses()
        if pauses.connector:
            runtime.link.send(Paused())
            self._context.request_commit()
        else:
            runtime.link.send(Running())

    def _commit_if_due(self) -> None:
        requested = self._context.commit_requested
        if self._committer.commit_if_due(requested) and requested:
            self._context.commit_requested = False

    def _next_messages(self) -> ConsumedMessages:
        """Wait for messages; return none if there is something else to do first."""
        runtime, clock = self._runtime, self._runtime.clock
        until = min(self._committer.next, self._wait_until())
        runtime.metrics.progress.enter(self._waiting_stage())
        while True:
            if runtime.metrics.progress.stage is not (waiting := self._waiting_stage()):
                runtime.metrics.progress.enter(waiting)  # the last read has closed partitions
            messages = self._reading.read(runtime.max_poll_records, min(_MAX_WAIT, max(until - clock(), 0.0)))
            if messages or clock() >= until or self._is_interrupted():
                return messages
            runtime.metrics.report_if_due()

    def _waiting_stage(self) -> Stage:
        progress = self._progress
        if progress.pauses.connector:
            return Stage.PAUSED
        return Stage.READING if progress.batch is None else Stage.PUTTING  # it waits to put a batch again

    def _wait_until(self) -> float:
        now, timeout = self._runtime.clock(), self._context.take_timeout()
        if timeout is None:
            timeout = self._retry
        self._retry = None
        return now + timeout if timeout is not None else float("inf")

    def _is_interrupted(self) -> bool:
        control = self._runtime.control
        return control.stopping or control.paused != self._progress.pauses.connector or self._context.commit_requested

    def _deliver(self, messages: ConsumedMessages) -> None:
        progress = self._progress
        batch = progress.batch
        if batch is None:
            batch = self._batch_of(messages)
        elif messages:
            # Partitions assigned while all are paused: these messages are read again afterwards.
            self._consumer.seek(messages.bounds()[0])
        self._put(batch)

    def _batch_of(self, messages: ConsumedMessages) -> SinkBatch:
        if messages:
            self._runtime.metrics.progress.enter(Stage.CONVERTING)
            self._runtime.metrics.add("sink-record-read-total", len(messages))
            self._runtime.metrics.sample("batch-size", len(messages))
            self._runtime.metrics.sample_size(messages.mean_size)
        batch = self._batches.convert(messages)
        if batch.table is not None:
            self._runtime.metrics.steps.converted(batch.size, batch.size)
        if messages:
            begins, ends = messages.bounds()
            self._progress.offsets.record_consumed(ends, begins)
            self._runtime.link.send(TopicsUsed(sorted({where.topic for where in ends})))
        return batch

    def _put(self, batch: SinkBatch) -> None:
        runtime, progress = self._runtime, self._progress
        try:
            self._batches.transform(batch)
        except FrameJobNotRunError as error:
            line = f"{error_text(error)}; it is tried again for {batch.size} records"
            self._try_again_later(batch, Stage.CONVERTING, error, line)
            return
        began = runtime.clock()
        runtime.metrics.progress.enter(Stage.PUTTING)
        try:
            self._batches.put(batch)
        except RetriableError as error:
            line = f"put failed for {batch.size} records, which will be put again: {error_text(error)}"
            runtime.metrics.steps.connector.retries += 1
            self._try_again_later(batch, Stage.PUTTING, error, line)
            return
        except ToleranceExceededError:  # its record is counted where the task has reported it
            raise
        except Exception:
            runtime.metrics.steps.connector.errors += 1
            raise
        runtime.after_put()
        # Invariant 9: not before put has returned.
        progress.offsets.record_put()
        if batch.size:
            runtime.metrics.progress.processed()
            runtime.metrics.add("sink-record-send-total", batch.size)
            runtime.metrics.steps.connector.passed(batch.size, 0)
            runtime.metrics.sample("put-batch", (runtime.clock() - began) * 1000, "-time-ms")
        if progress.batch is not None:
            progress.batch = None
            self._failures = 0
            runtime.reports.succeeded("put")
            progress.pauses.redelivery = False
            self._consumer.apply_pauses()

    def _try_again_later(self, batch: SinkBatch, stage: Stage, error: RetriableError, line: str) -> None:
        self._failures += 1
        asked = self._context.take_timeout()
        self._retry = _BACKOFF.after(self._failures) if asked is None else asked
        self._runtime.reports.retried("put", stage, error, line, delay=self._retry)
        self._progress.batch = batch
        self._progress.pauses.redelivery = True
        self._consumer.apply_pauses()
