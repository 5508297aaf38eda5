# SPDX-License-Identifier: Apache-2.0
"""The preview of a sink: real records of its topics, what converters and the chain make of them, and what is written.

Neither the connector nor a task is started, no group is joined and nothing is committed: `put` is never called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from typing import Any, Final

from headrace.api.error_text import error_text
from headrace.api.errors import ConnectError
from headrace.api.record import SinkRecord
from headrace.api.sink import SinkConnector, TargetCheck
from headrace.config.connector_config import KEY_CONVERTER, VALUE_CONVERTER
from headrace.config.sink_connector_config import SinkConnectorConfig
from headrace.inspection.decoded_record import create_decoder
from headrace.inspection.preview.observed_chain import STAGE, ObservedChain
from headrace.inspection.preview.preview_progress import Progress
from headrace.inspection.preview.previewed_frames import OfferedFrames
from headrace.inspection.preview.previewed_record import Failures, PreviewedRecord, ending, error_handling
from headrace.inspection.preview.previewed_task import PART_SIZE, PreviewedTask, record_json
from headrace.inspection.readable_json import ReadableJson
from headrace.kafka.data.consumed_messages import ConsumedMessages
from headrace.kafka.data.sink_consumer import SinkConsumer
from headrace.kafka.data.topic_reader import ReadLimits, TopicReader, UnknownTopicError
from headrace.model.deadline import Deadline
from headrace.model.raw_record import RawRecord
from headrace.task.assembly import TaskAssembly
from headrace.task.errors.processing_context import ConsumedRecord
from headrace.task.sink.sink_record_converter import (
    TIMESTAMP_TYPES,
    HeadersReader,
    Originals,
    Reader,
    SinkRecordConverter,
)
from headrace.task.transformation_chain import TransformationChain

Assembly = TaskAssembly[SinkConnectorConfig, ConsumedRecord]
Json = dict[str, Any]
_BYTES: Final = 16 << 20


def preview_sink(
    connector: SinkConnector, previewed: PreviewedTask, spec: Mapping[str, Any], progress: Progress
) -> None:
    """Show the records of the connector's topics, and what ``dry_run`` returns for them."""
    config = SinkConnectorConfig(previewed.spec.connector_config)
    assembly: Assembly = TaskAssembly(previewed.spec, config, previewed.link, previewed.control)
    with progress.calling("creation of converters and transformations"):
        records = _SinkRecords(assembly, previewed.frames, progress)
    deadline = Deadline(spec["until"], Deadline.after(0).clock)
    with progress.calling("reading the topics"):
        consumed = _read(config, previewed.spec.consumer, spec, deadline)
        ends = "time" if deadline.expired else "end"
    found = records.show_all(consumed)
    records.close()
    with progress.calling(f"{type(connector).__name__}.dry_run"):
        dry_run = connector.dry_run(dict(config.raw), found) if found else None
        if dry_run is not None:
            rows = [ReadableJson(PART_SIZE).value(row) for row in dry_run.rows]
            progress.emit("dryRun", {"rows": rows, "schema": dry_run.schema})
            for note in (*dry_run.notes, *_checked(dry_run.checks, previewed.frames)):
                progress.emit("note", note)
    if dry_run is None and found:
        progress.emit("note", "what put makes of these records is not previewed: the connector has no dry_run")
    progress.end("records" if len(consumed) >= spec["records"] else ends)


def _checked(checks: Sequence[TargetCheck], frames: OfferedFrames) -> Iterator[str]:
    """Yield the notes of checks that need Spark, or why there are none; jobs end when the preview does."""
    for check in checks:
        try:
            yield from check.notes(frames.run(check.job))
        except ConnectError as error:
            yield f"{check.subject}: {error_text(error)}"


def _read(
    config: SinkConnectorConfig, consumer: Mapping[str, str], spec: Mapping[str, Any], deadline: Deadline
) -> list[RawRecord]:
    """Return records of the topics, which exist or not, up to the number that is wanted."""
    committed = {
        (str(partition["kafka_topic"]), int(partition["kafka_partition"])): int(offset["kafka_offset"])
        for partition, offset in spec["offsets"]
    }
    found: list[RawRecord] = []
    for topic in _topics(config, consumer):
        wanted = spec["records"] - len(found)
        if wanted <= 0 or deadline.expired:
            break
        with suppress(UnknownTopicError), closing(TopicReader(consumer, topic)) as reader:
            partitions = reader.partitions(deadline)
            limits = ReadLimits(wanted, _BYTES, deadline)
            if spec["from_end"]:
                read = reader.tail(partitions, limits)
            else:
                read = reader.read({number: committed.get((topic, number), 0) for number in partitions}, limits)
            found += read.records
    return found


def _topics(config: SinkConnectorConfig, consumer: Mapping[str, str]) -> Sequence[str]:
    pattern: re.Pattern[str] | None = config.topics_regex
    if pattern is None:
        return config.topics
    looking = SinkConsumer(consumer)
    try:
        return sorted(topic for topic in looking.existing(None) if pattern.fullmatch(topic))
    finally:
        looking.close()


class _RawMessages(ConsumedMessages):
    """Raw records in the place of a client's messages."""

    def __init__(self, records: Sequence[RawRecord]) -> None:
        super().__init__(())
        self.messages = records  # type: ignore[assignment]
        self.topics = [each.topic for each in records]
        self.partitions = [each.partition or 0 for each in records]
        self.offsets = [each.offset or 0 for each in records]
        self.keys = [each.key for each in records]
        self.values = [each.value for each in records]
        self.timestamps = [(TIMESTAMP_TYPES.index(each.timestamp_type), each.timestamp or 0) for each in records]
        self.headers = [list(each.headers) or None for each in records]


class _SinkRecords:
    """Shows consumed records. One thread."""

    def __init__(self, assembly: Assembly, frames: OfferedFrames, progress: Progress) -> None:
        self._config = assembly.config
        self._progress = progress
        self._failures: Failures[ConsumedRecord] = Failures()
        errors = error_handling(assembly, self._failures)
        operation, create_header = assembly.converters.header_converter()
        self._converter = SinkRecordConverter(
            Reader(*assembly.converters.create_converter(KEY_CONVERTER)),
            Reader(*assembly.converters.create_converter(VALUE_CONVERTER)),
            HeadersReader(operation, create_header()),
            TransformationChain([], errors),
            errors,
            reportable=False,
        )
        self._chain = ObservedChain(assembly, errors, self._failures, frames, progress)
        self._decoder = create_decoder(assembly.converters, PART_SIZE)

    def show_all(self, consumed: Sequence[RawRecord]) -> list[SinkRecord]:
        """Emit what becomes of records, and return the records that the task would be given."""
        self._progress.enter(STAGE)
        found: list[SinkRecord] = []
        for batch in [consumed] if self._chain.by_batch else ([each] for each in consumed):
            records = [self._converted(raw) for raw in batch]
            self._chain.apply(records)
            for record in records:
                self._progress.emit("record", record.json("put", [record_json(row) for row in record.rows]))
                found += record.rows
        return found

    def close(self) -> None:
        self._converter.close()
        self._chain.close()

    def _converted(self, raw: RawRecord) -> PreviewedRecord[ConsumedRecord]:
        messages = _RawMessages([raw])
        (original,) = Originals(messages)
        record = PreviewedRecord(original, {"consumed": self._decoder.decode(raw)}, [])
        with ending(record, self._failures, self._config, STAGE):
            record.rows = list(self._converter.records(messages))
        return record
