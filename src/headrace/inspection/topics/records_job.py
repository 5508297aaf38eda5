# SPDX-License-Identifier: Apache-2.0
"""The sandbox's job that reads records of a topic and decodes them, and the positions where reads begin, as texts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from headrace.api.errors import ConnectError
from headrace.herder.errors import BadRequestError
from headrace.inspection.decoded_record import RecordDecoder, create_decoder
from headrace.inspection.job_process import Emit
from headrace.kafka.data.topic_reader import ReadLimits, ReadRecords, TopicReader
from headrace.model.deadline import Deadline
from headrace.model.raw_record import RawRecord
from headrace.plugins.discovery import plugins_of
from headrace.task.task_converters import TaskConverters

BEGIN: Final = "begin"
END: Final = "end"
TAIL: Final = "tail"
_WORDS: Final = (BEGIN, END, TAIL)
_OFFSET: Final = re.compile(r"[0-9]{1,18}")
_POSITIONS: Final = re.compile(r"[0-9]{1,9}:[0-9]{1,18}(,[0-9]{1,9}:[0-9]{1,18})*")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
CONNECTOR: Final = "connector"
_STRINGS: Final = "org.apache.kafka.connect.storage.StringConverter"
_JSON: Final = "org.apache.kafka.connect.json.JsonConverter"
_CONVERTERS: Final[Mapping[str, Mapping[str, str]]] = {
    "text": {"key.converter": _STRINGS, "value.converter": _STRINGS},
    "json": {"key.converter": _STRINGS, "value.converter": _JSON, "value.converter.schemas.enable": "false"},
}
"""By the name of a way to decode: the properties in place of the connector's."""
DECODINGS: Final = (CONNECTOR, *_CONVERTERS)
_READ_S: Final = 20.0
_RAW_BYTES: Final = 4 << 20
_ANSWER_CHARS: Final = 8 << 20


def check_positions(text: str) -> None:
    """Raise BadRequestError unless ``text`` is a word, an offset, a time, or as ``positions_text`` returns it."""
    if text in _WORDS or _OFFSET.fullmatch(text) or _POSITIONS.fullmatch(text) or time_of(text) is not None:
        return
    words = ", ".join(_WORDS)
    other = "an offset, positions as 0:17,1:4, or a time with its zone as 2026-06-01T08:00:00Z (in a URL + is %2B)"
    raise BadRequestError(f"from={text:.200} is none of {words}, {other}")


def time_of(text: str) -> int | None:
    """Return a time with its zone (ISO 8601) as ms since the epoch; None for any other text."""
    if not _TIME.fullmatch(text):
        return None
    try:
        return (datetime.fromisoformat(text) - _EPOCH) // timedelta(milliseconds=1)
    except ValueError:  # as the 31st of June
        return None


def positions_text(positions: Mapping[int, int]) -> str:
    """Return offsets by partition as ``0:17,1:4``."""
    return ",".join(f"{partition}:{offset}" for partition, offset in sorted(positions.items()))


def positions_of(text: str, bounds: Mapping[int, tuple[int, int]]) -> dict[int, int]:
    """Return the offsets by partition where a read of ``from=text`` begins, of partitions in ``bounds`` only.

    ``text`` is no time: these offsets the brokers know.
    """
    if text == BEGIN:
        return {partition: low for partition, (low, _) in bounds.items()}
    if text == END:
        return {partition: high for partition, (_, high) in bounds.items()}
    if _OFFSET.fullmatch(text):
        return dict.fromkeys(bounds, int(text))
    given = (each.split(":") for each in text.split(","))
    return {int(partition): int(offset) for partition, offset in given if int(partition) in bounds}


@dataclass(frozen=True, slots=True)
class RecordsSpec:
    """A request for records.

    ``begin`` as for ``check_positions``; ``wait`` is in seconds; ``raw`` is without decoding; ``decoding`` is one of
    ``DECODINGS``.
    """

    worker: Mapping[str, str]
    connector: Mapping[str, str]
    client: Mapping[str, str]
    topic: str
    begin: str
    limit: int
    wait: float = 0
    partition: int | None = None
    raw: bool = False
    decoding: str = CONNECTOR

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class UnknownPartitionError(ConnectError):
    """The topic has no such partition."""


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
    if wanted.partition is not None and not chosen:
        highest = f"the highest is {partitions[-1]}"
        raise UnknownPartitionError(f"Topic {wanted.topic} has no partition {wanted.partition}; {highest}")
    if wanted.begin == TAIL:
        return reader.tail(chosen, limits)
    timestamp = time_of(wanted.begin)
    if timestamp is None:
        positions = positions_of(wanted.begin, reader.bounds(chosen, limits.deadline))
    else:
        positions = reader.at_time(timestamp, chosen, limits.deadline)
    if wanted.wait:
        limits = ReadLimits(wanted.limit, _RAW_BYTES, Deadline.after(wanted.wait))
    return reader.read(positions, limits, follow=wanted.wait > 0)


def _converters(wanted: RecordsSpec) -> TaskConverters:
    own = wanted.connector
    if (chosen := _CONVERTERS.get(wanted.decoding)) is not None:
        own = {name: value for name, value in own.items() if not name.startswith(("key.converter", "value.converter"))}
        own |= chosen
    return TaskConverters(own, wanted.worker, plugins_of(wanted.worker))


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
