# SPDX-License-Identifier: Apache-2.0
"""Transforms and converts dead letters as a connector's task would: plugins' code, for a sandbox's process only.

A source's letter goes through the connector's chain and converters. A sink's letter is read by the converters of an
edited configuration, goes through the transformations that this has, and is written by the connector's own converters:
so that the connector can read it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import orjson

from headrace.api.error_text import error_line
from headrace.api.errors import ConfigError
from headrace.api.headers import Header, Headers
from headrace.api.record import ConnectRecord, SinkRecord, SourceRecord
from headrace.config.connector_config import ConnectorConfig, ErrorHandling
from headrace.converters.simple_header_converter import SimpleHeaderConverter
from headrace.inspection.dead_letters.letter import Letter, original_headers
from headrace.inspection.dead_letters.letter_json import letter_from_json, outcome_to_json
from headrace.inspection.dead_letters.redrive_rules import Outcome, OutgoingRecord
from headrace.inspection.decoded_record import create_converters
from headrace.inspection.job_process import Emit
from headrace.plugins.discovery import Plugins, plugins_of
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance, ToleranceExceededError
from headrace.task.frames.frame_chain import has_frame_steps
from headrace.task.record_converter import create_record_converter
from headrace.task.task_converters import TaskConverters
from headrace.task.task_metrics import TaskMetrics
from headrace.task.transformation_chain import create_transformation_chain

Read: TypeAlias = Callable[[Letter], ConnectRecord]


def redrive_letters(spec: Mapping[str, Any], emit: Emit) -> None:
    """Emit the outcome of each letter of ``spec``, in their order; a job of the sandbox.

    ``spec`` has ``worker`` (its properties), ``connector`` (the configuration that reads and transforms), ``writer``
    (the one whose converters write), ``source`` (whether it is one), ``to_topic`` and ``letters``.
    """
    plugins = plugins_of(spec["worker"])
    redrive = create_redriver(spec, plugins)
    name = spec["writer"]["name"]
    for found in spec["letters"]:
        emit(outcome_to_json(redrive(letter_from_json(name, found))))


def create_redriver(spec: Mapping[str, Any], plugins: Plugins) -> Callable[[Letter], Outcome]:
    """Return the function from a letter to its outcome. Raise ConfigError for what the configuration cannot be."""
    # The class' own definition is not applied: only what all connectors have is used.
    config = ConnectorConfig(spec["connector"])
    if has_frame_steps(config, plugins):
        raise ConfigError(
            "A redrive cannot run transformations on DataFrames: edit the chain, so that transforms has none",
            "transforms",
        )
    errors: RetryWithTolerance[Any] = RetryWithTolerance(
        ErrorHandling(), (), TaskMetrics(lambda values: None, time.monotonic), lambda seconds: False
    )
    chain = create_transformation_chain(config, plugins, errors)
    if spec["source"]:
        read: Read = partial(_source_record, spec["to_topic"])
    else:
        read = _sink_reader(TaskConverters(spec["connector"], spec["worker"], plugins))
    converter = create_record_converter(TaskConverters(spec["writer"], spec["worker"], plugins), errors)

    def redrive(letter: Letter) -> Outcome:
        try:
            record: Any = read(letter)
            originals: Any = [letter.record]
            transformed: Any = chain.apply_all([record], originals)[0] if chain else record
            if transformed is None:
                return Outcome()
            if spec["to_topic"] is not None:
                transformed.topic = spec["to_topic"]
            batches, _ = converter.convert_records([transformed], originals)
        except ToleranceExceededError as error:
            return Outcome(failure=error_line(error.__cause__ or error))
        except Exception as error:  # of a plugin: any
            return Outcome(failure=error_line(error))
        return Outcome(tuple(_outgoing(letter, batch) for batch in batches))

    return redrive


def _outgoing(letter: Letter, batch: Any) -> OutgoingRecord:
    """Return the one record of a batch."""
    return OutgoingRecord(
        batch.topic,
        batch.partitions[0] if batch.partitions is not None else None,
        batch.keys[0] if batch.keys is not None else None,
        batch.values[0],
        (batch.headers[0] or []) if batch.headers is not None else [],
        batch.timestamps[0] if batch.timestamps is not None else letter.record.timestamp,
    )


def _source_record(to_topic: str | None, letter: Letter) -> SourceRecord:
    """Return the record as it was polled, but without schemas, which a dead letter does not have."""
    failure, record = letter.failure, letter.record
    topic = failure.get("topic", to_topic)
    if topic is None:
        raise ConfigError("the letter has no header with its topic; name one with to_topic")
    headers = SimpleHeaderConverter()
    converted = [
        (name, headers.to_connect_header(topic, name, value)) for name, value in original_headers(record.headers)
    ]
    return SourceRecord(
        _json(failure.get("source.partition")),
        _json(failure.get("source.offset")),
        topic,
        key=_value(record.key),
        value=_value(record.value),
        timestamp=record.timestamp,
        headers=Headers(Header(name, data.value, data.schema) for name, data in converted),
    )


def _json(text: str | None) -> Any:
    return None if text is None else orjson.loads(text)


def _value(data: bytes | None) -> Any:
    """Return the JSON value; what is no JSON was bytes when it was polled."""
    if data is None:
        return None
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return data


def _sink_reader(converters: TaskConverters) -> Read:
    key, value, headers = create_converters(converters)

    def read(letter: Letter) -> SinkRecord:
        record, failure = letter.record, letter.failure
        topic, raw = failure.get("topic", record.topic), original_headers(record.headers)
        named = dict(raw)
        key_data = key.to_connect_data_with_headers(topic, named, record.key)
        value_data = value.to_connect_data_with_headers(topic, named, record.value)
        converted = [(name, headers.to_connect_header(topic, name, data)) for name, data in raw]
        return SinkRecord(
            topic,
            # By the key, which the chain may change.
            None,
            key_data.schema,
            key_data.value,
            value_data.schema,
            value_data.value,
            record.offset,
            record.timestamp,
            record.timestamp_type,
            Headers(Header(name, data.value, data.schema) for name, data in converted),
        )

    return read
