# SPDX-License-Identifier: Apache-2.0
"""The sandbox's job that reads records of a topic and decodes them by the connector's converters."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any, Final

from headrace.inspection.decoded_record import RecordDecoder, create_decoder
from headrace.inspection.job_process import Emit
from headrace.inspection.topics.positions import TAIL, positions_of, positions_text
from headrace.kafka.data.topic_reader import ReadLimits, ReadRecords, TopicReader
from headrace.model.deadline import Deadline
from headrace.model.raw_record import RawRecord
from headrace.plugins.discovery import plugins_of
from headrace.task.task_converters import TaskConverters

_READ_S: Final = 20.0
_RAW_BYTES: Final = 4 << 20
_ANSWER_CHARS: Final = 8 << 20


@dataclass(frozen=True, slots=True)
class RecordsSpec:
    """A request for records. ``begin`` is as in ``positions``; ``wait`` is in seconds; ``raw`` is without decoding."""

    worker: Mapping[str, str]
    connector: Mapping[str, str]
    client: Mapping[str, str]
    topic: str
    begin: str
    limit: int
    wait: float = 0
    partition: int | None = None
    raw: bool = False

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def read_records(spec: Mapping[str, Any], emit: Emit) -> None:
    """Emit ``{"record": …}`` for each record, then ``{"positions": "0:17", "at_end": true}``."""
    wanted = RecordsSpec(**spec)
    decoder = RecordDecoder() if wanted.raw else create_decoder(_converters(wanted))
    with closing(TopicReader(wanted.client, wanted.topic)) as reader:
        read = _read(wanted, reader)
    newest_first = wanted.begin == TAIL
    sent = _decoded(decoder, read.records[::-1] if newest_first else read.records)
    for record in reversed(sent) if newest_first else sent:
        emit({"record": record})
    left_out = () if newest_first else read.records[len(sent) :]
    positions = {**read.positions, **_first_offsets(left_out)}
    emit({"positions": positions_text(positions), "at_end": read.at_end and not left_out})


def _read(wanted: RecordsSpec, reader: TopicReader) -> ReadRecords:
    limits = ReadLimits(wanted.limit, _RAW_BYTES, Deadline.after(_READ_S))
    partitions = reader.partitions(limits.deadline)
    chosen = [each for each in partitions if wanted.partition in (None, each)]
    if wanted.begin == TAIL:
        return reader.tail(chosen, limits)
    positions = positions_of(wanted.begin, reader.bounds(chosen, limits.deadline))
    if wanted.wait:
        limits = ReadLimits(wanted.limit, _RAW_BYTES, Deadline.after(wanted.wait))
    return reader.read(positions, limits, follow=wanted.wait > 0)


def _converters(wanted: RecordsSpec) -> TaskConverters:
    return TaskConverters(wanted.connector, wanted.worker, plugins_of(wanted.worker))


def _decoded(decoder: RecordDecoder, records: Sequence[RawRecord]) -> list[dict[str, Any]]:
    """Return the first records as JSON, as many as an answer may have characters, and at least one."""
    decoded: list[dict[str, Any]] = []
    left = _ANSWER_CHARS
    for record in records:
        found = decoder.decode(record)
        left -= len(json.dumps(found))
        if decoded and left < 0:
            break
        decoded.append(found)
    return decoded


def _first_offsets(records: Sequence[RawRecord]) -> dict[int, int]:
    return {r.partition: r.offset for r in reversed(records) if r.partition is not None and r.offset is not None}
