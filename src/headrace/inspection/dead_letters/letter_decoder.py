# SPDX-License-Identifier: Apache-2.0
"""Decodes the records of dead letters, as they were before they failed, for people to read; in a sandbox's process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.converters.json_converter import JsonConverter
from headrace.converters.simple_header_converter import SimpleHeaderConverter
from headrace.inspection.dead_letters.letter import Letter, original_headers
from headrace.inspection.dead_letters.letter_json import letter_from_json
from headrace.inspection.decoded_record import RecordDecoder, create_decoder
from headrace.inspection.job_process import Emit
from headrace.model.raw_record import RawRecord
from headrace.plugins.discovery import plugins_of
from headrace.task.task_converters import TaskConverters

_PART_SIZE = 16_384


def decode_letters(spec: Mapping[str, Any], emit: Emit) -> None:
    """Emit the decoded record of each letter of ``spec``, in their order; a job of the sandbox.

    ``spec`` has ``worker`` (its properties), ``connector`` (its configuration), ``source`` (whether it is one) and
    ``letters``.
    """
    decoder = _source_decoder() if spec["source"] else _sink_decoder(spec)
    name = spec["connector"]["name"]
    for found in spec["letters"]:
        emit(decoder.decode(original(letter_from_json(name, found))))


def original(letter: Letter) -> RawRecord:
    """Return the record of a letter, with its own position where the letter has it."""
    record, failure = letter.record, letter.failure
    return RawRecord(
        failure.get("topic", record.topic),
        _number(failure.get("partition")),
        _number(failure.get("offset")),
        record.timestamp,
        record.timestamp_type,
        record.key,
        record.value,
        tuple(original_headers(record.headers)),
    )


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and len(text) < 20 else None


def _source_decoder() -> RecordDecoder:
    """Return the decoder of what ``create_dead_letter`` writes of a source's records, whatever their converters."""
    converter = JsonConverter()
    converter.configure({"schemas.enable": "false"}, False)
    return RecordDecoder(converter, converter, SimpleHeaderConverter(), _PART_SIZE)


def _sink_decoder(spec: Mapping[str, Any]) -> RecordDecoder:
    converters = TaskConverters(spec["connector"], spec["worker"], plugins_of(spec["worker"]))
    return create_decoder(converters, _PART_SIZE)
