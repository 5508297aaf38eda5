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
from headrace.inspection.preview.observed_chain import STAGE, ObservedChain
from headrace.inspection.preview.preview_progress import Progress
from headrace.inspection.preview.previewed_frames import OfferedFrames
from headrace.inspection.preview.previewed_record import Failures, PreviewedRecord, ending, error_handling
from headrace.inspection.preview.previewed_task import PART_SIZE, PreviewedTask, record_json
from headrace.inspection.readable_json import ReadableJson
from headrace.metrics.plugin_metrics import OwnPluginMetrics
from headrace.model.raw_record import RawRecord
from headrace.task.assembly import TaskAssembly
from headrace.task.record_converter import create_record_converter
from headrace.task.source.source_task_factory import (
    LinkedOffsetStorageReader,
    WorkerSourceTaskContext,
    topic_reading,
)
from headrace.task.source.transaction_boundary import WorkerTransactionContext
from headrace.task.topic_batch import TopicBatch

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
        records = _SourceRecords(assembly, previewed.frames, progress)
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
                batch = _as_records(task.poll(), wanted - shown)
            except RetriableError as error:
                stopping = control.wait_for_stop(_RETRY_S)
                if retried != error_text(error):
                    retried = error_text(error)
                    progress.emit(
                        "note", f"SourceTask.poll failed{'' if stopping else ', which is retried'}: {retried}"
                    )
                continue
        if not batch:
            control.wait_for_stop(_IDLE_S)
            continue
        records.show_all(batch)
        shown += len(batch)
        if shown >= wanted:
            return True
    return False


def _as_records(batch: Any, wanted: int) -> Sequence[SourceRecord]:
    """Return the first records of what a task has polled."""
    if batch is None or isinstance(batch, Sequence):
        return (batch or ())[:wanted]
    from headrace.api.arrow_records import table_to_records

    return table_to_records(batch.slice(0, wanted))


def _context(assembly: Assembly) -> WorkerSourceTaskContext:
    own = assembly.spec.exactly_once and assembly.config.transaction_boundary is TransactionBoundary.CONNECTOR
    return WorkerSourceTaskContext(
        assembly.spec.task_config,
        LinkedOffsetStorageReader(assembly.link),
        WorkerTransactionContext() if own else None,
        assembly.link.frames,
        OwnPluginMetrics(assembly.plugin_metrics.registry),
        topic_reading(assembly),
    )


class _SourceRecords:
    """Shows polled records. The task's thread only."""

    def __init__(self, assembly: Assembly, frames: OfferedFrames, progress: Progress) -> None:
        self._config = assembly.config
        self._progress = progress
        self._failures: Failures[SourceRecord] = Failures()
        errors = error_handling(assembly, self._failures)
        self._chain = ObservedChain(assembly, errors, self._failures, frames, progress)
        self._converter = create_record_converter(assembly.converters, errors)
        self._decoder = create_decoder(assembly.converters, PART_SIZE)

    def show_all(self, polled: Sequence[SourceRecord]) -> None:
        """Emit what becomes of records that were polled together."""
        self._progress.enter(STAGE)
        for batch in [polled] if self._chain.by_batch else ([each] for each in polled):
            records = [PreviewedRecord(each, _polled_json(each), [each]) for each in batch]
            self._chain.apply(records)
            for record in records:
                results = self._results(record)
                self._progress.emit("record", record.json("written", results if record.outcome is None else ()))

    def close(self) -> None:
        self._chain.close()
        self._converter.close()

    def _results(self, record: PreviewedRecord[SourceRecord]) -> list[Json]:
        """Return what Kafka would get of a record, which ends if that cannot be."""
        results: list[Json] = []
        for row in list(record.rows):
            with ending(record, self._failures, self._config, STAGE):
                batches, _ = self._converter.convert_records([row], [record.original])
                results += [self._decoder.decode(_raw_record(batch)) for batch in batches]
        return results


def _polled_json(record: SourceRecord) -> Json:
    return {
        "polled": record_json(record),
        "sourcePartition": _map(record.source_partition),
        "sourceOffset": _map(record.source_offset),
    }


def _raw_record(batch: TopicBatch) -> RawRecord:
    """Return the only record of a batch."""
    return RawRecord(
        batch.topic,
        None if batch.partitions is None else batch.partitions[0],
        timestamp=None if batch.timestamps is None else batch.timestamps[0],
        key=None if batch.keys is None else batch.keys[0],
        value=batch.values[0],
        headers=tuple(batch.headers[0] or ()) if batch.headers is not None else (),
    )


def _map(of: Mapping[str, Any] | None) -> Any:
    return None if of is None else ReadableJson(PART_SIZE).value(dict(of))
