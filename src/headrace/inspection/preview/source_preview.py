# SPDX-License-Identifier: Apache-2.0
"""The preview of a source task: what it polls, what the chain makes of it, and the bytes that Kafka would get."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

from headrace.api.error_text import error_text
from headrace.api.errors import RetriableError
from headrace.api.record import SourceRecord
from headrace.api.source import SourceTask, TransactionBoundary
from headrace.config.source_connector_config import SourceConnectorConfig
from headrace.inspection.decoded_record import create_decoder
from headrace.inspection.preview.observed_steps import NOT_PREVIEWED, Steps, create_observed_chain
from headrace.inspection.preview.preview_progress import Progress
from headrace.inspection.preview.previewed_errors import Failures, error_handling, error_json, failure_json
from headrace.inspection.preview.previewed_task import PART_SIZE, PreviewedTask, record_json
from headrace.inspection.readable_json import ReadableJson
from headrace.metrics.plugin_registry import OwnPluginMetrics
from headrace.model.raw_record import RawRecord
from headrace.task.assembly import TaskAssembly
from headrace.task.errors.retry_with_tolerance import ToleranceExceededError
from headrace.task.record_converter import create_record_converter
from headrace.task.source.source_task_factory import LinkedOffsetStorageReader, WorkerSourceTaskContext
from headrace.task.source.transaction_boundary import WorkerTransactionContext

Assembly = TaskAssembly[SourceConnectorConfig, SourceRecord]
Json = dict[str, Any]
_RETRY_S: Final = 0.3
_STOP_S: Final = 2.0
_IDLE_S: Final = 0.01
"""Seconds between two polls that return nothing, for a task that does not wait itself."""


def preview_source(previewed: PreviewedTask, spec: Mapping[str, Any], progress: Progress) -> None:
    """Start the task, poll until there are enough records or the time is over, and stop it."""
    config = SourceConnectorConfig(previewed.spec.connector_config)
    assembly: Assembly = TaskAssembly(previewed.spec, config, previewed.link, previewed.control)
    with progress.calling("creation of the task"):
        task: SourceTask = assembly.create_task(SourceTask)
        records = _SourceRecords(assembly, progress)
    try:
        with progress.calling("SourceTask.start"):
            task.initialize(_context(assembly))
            if previewed.control.on_stop(task.stop):
                task.start(previewed.spec.task_config)
        enough = _poll(task, assembly, records, spec["records"], progress)
    finally:
        progress.enter("SourceTask.stop")
        # On another thread as always, in case its stop hangs.
        stopping = threading.Thread(target=previewed.control.stop, daemon=True)
        stopping.start()
        stopping.join(_STOP_S)
        records.close()
    progress.end("records" if enough else "time")


def _poll(task: SourceTask, assembly: Assembly, records: _SourceRecords, wanted: int, progress: Progress) -> bool:
    """Show ``wanted`` records; return False if the time was over before."""
    control, shown, retried = assembly.control, 0, ""
    while not control.stopping:
        with progress.calling("SourceTask.poll"):
            try:
                batch = _as_records(task.poll())
            except RetriableError as error:
                if retried != error_text(error):
                    retried = error_text(error)
                    progress.emit("note", f"SourceTask.poll failed, which is retried: {retried}")
                control.wait_for_stop(_RETRY_S)
                continue
        if not batch:
            control.wait_for_stop(_IDLE_S)
        for record in batch[: wanted - shown]:
            records.show(record)
        shown += len(batch)
        if shown >= wanted:
            return True
    return False


def _as_records(batch: Any) -> Sequence[SourceRecord]:
    if batch is None or isinstance(batch, Sequence):
        return batch or ()
    from headrace.api.arrow_records import table_to_records

    return table_to_records(batch)


def _context(assembly: Assembly) -> WorkerSourceTaskContext:
    own = assembly.spec.exactly_once and assembly.config.transaction_boundary is TransactionBoundary.CONNECTOR
    return WorkerSourceTaskContext(
        assembly.spec.task_config,
        LinkedOffsetStorageReader(assembly.link),
        WorkerTransactionContext() if own else None,
        assembly.link.frames,
        OwnPluginMetrics(assembly.plugin_metrics.registry),
    )


class _SourceRecords:
    """Shows polled records one by one. The task's thread only."""

    def __init__(self, assembly: Assembly, progress: Progress) -> None:
        self._config = assembly.config
        self._progress = progress
        self._failures: Failures[SourceRecord] = Failures()
        self._steps = Steps()
        errors = error_handling(assembly, self._failures)
        self._chain = create_observed_chain(assembly.config, assembly.plugins, errors, self._steps, record_json)
        self._converter = create_record_converter(assembly.converters, errors)
        self._decoder = create_decoder(assembly.converters, PART_SIZE)

    def show(self, record: SourceRecord) -> None:
        """Emit what becomes of a polled record."""
        self._progress.enter("transformations and converters")
        shown: Json = {
            "polled": record_json(record),
            "sourcePartition": _map(record.source_partition),
            "sourceOffset": _map(record.source_offset),
        }
        try:
            result, outcome = self._processed(record)
        except ToleranceExceededError:
            result, outcome = None, ""
        except Exception as error:
            result, outcome = None, "fails the task"
            shown["error"] = error_json(error, self._progress.stage)
        if (failure := self._failures.take()) is not None:
            outcome, shown["error"] = failure_json(failure, self._config)
        self._progress.emit("record", {**shown, "steps": self._steps.take(), "outcome": outcome, "result": result})

    def close(self) -> None:
        self._chain.close()
        self._converter.close()

    def _processed(self, record: SourceRecord) -> tuple[Json | None, str]:
        """Return the record as Kafka would get it; None, and why not, for one that it would not get."""
        (transformed,) = self._chain.apply_all([record], [record])
        if transformed is None:
            return None, NOT_PREVIEWED if self._steps.at_spark else "dropped"
        batches, _ = self._converter.convert_records([transformed], [record])
        if not batches:
            return None, "skipped"
        (batch,) = batches
        raw = RawRecord(
            batch.topic,
            None if batch.partitions is None else batch.partitions[0],
            timestamp=None if batch.timestamps is None else batch.timestamps[0],
            key=None if batch.keys is None else batch.keys[0],
            value=batch.values[0],
            headers=tuple(batch.headers[0] or ()) if batch.headers is not None else (),
        )
        return self._decoder.decode(raw), "written"


def _map(of: Mapping[str, Any] | None) -> Any:
    return None if of is None else ReadableJson(PART_SIZE).value(dict(of))
