# SPDX-License-Identifier: Apache-2.0
"""Letters and the records that they become as JSON, on their way to a job's process and back. Pure."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.api.record import TimestampType
from headrace.inspection.dead_letters.letter import Letter
from headrace.inspection.dead_letters.redrive_rules import Outcome, OutgoingRecord
from headrace.task.errors.processing_context import ConsumedRecord


def letter_to_json(letter: Letter) -> dict[str, Any]:
    record = letter.record
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "key": _encoded(record.key),
        "value": _encoded(record.value),
        "headers": _encoded_headers(record.headers),
        "timestamp": record.timestamp,
        "timestampType": record.timestamp_type.value,
    }


def letter_from_json(connector: str, found: Mapping[str, Any]) -> Letter:
    record = ConsumedRecord(
        found["topic"],
        found["partition"],
        found["offset"],
        _decoded(found["key"]),
        _decoded(found["value"]),
        _decoded_headers(found["headers"]),
        found["timestamp"],
        TimestampType(found["timestampType"]),
    )
    return Letter(connector, record)


def outcome_to_json(outcome: Outcome) -> dict[str, Any]:
    if outcome.failure is not None:
        return {"failure": outcome.failure}
    records = [
        {
            "topic": record.topic,
            "partition": record.partition,
            "key": _encoded(record.key),
            "value": _encoded(record.value),
            "headers": _encoded_headers(record.headers),
            "timestamp": record.timestamp,
        }
        for record in outcome.records
    ]
    return {"records": records}


def outcome_from_json(found: Mapping[str, Any]) -> Outcome:
    if "failure" in found:
        return Outcome(failure=found["failure"])
    records = [
        OutgoingRecord(
            each["topic"],
            each["partition"],
            _decoded(each["key"]),
            _decoded(each["value"]),
            _decoded_headers(each["headers"]),
            each["timestamp"],
        )
        for each in found["records"]
    ]
    return Outcome(tuple(records))


def _encoded(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def _encoded_headers(headers: Sequence[tuple[str, bytes | None]]) -> list[list[str | None]]:
    return [[name, _encoded(value)] for name, value in headers]


def _decoded_headers(headers: Sequence[Sequence[Any]]) -> list[tuple[str, bytes | None]]:
    return [(name, _decoded(value)) for name, value in headers]
