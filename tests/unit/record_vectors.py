# SPDX-License-Identifier: Apache-2.0
"""Golden vectors about records: building records, comparing them, and running transformations over them."""

from __future__ import annotations

import decimal
from collections.abc import Mapping
from typing import Any

import pytest

from headrace.api.config_def import ConfigDef, value_to_string
from headrace.api.errors import ConfigError, ConnectError, DataError
from headrace.api.headers import Header, Headers
from headrace.api.java_text import to_float32
from headrace.api.record import ConnectRecord, SinkRecord, SourceRecord, TimestampType
from headrace.api.schema import Field, Schema
from headrace.api.transform import Transformation
from tests.vectors.reader import BOX_WIDTH, NotInPython, same, schema_of, value_of

ACCIDENTAL = "accidental exception"
ERRORS: Mapping[str, type[ConnectError]] = {
    "ConfigException": ConfigError,
    "ConnectException": ConnectError,
    "DataException": DataError,
    "SchemaBuilderException": DataError,
}


def record_of(json_record: Mapping[str, Any]) -> SourceRecord | SinkRecord:
    """The record that a vector describes. NotInPython if it holds a value that Python's types cannot."""
    headers = Headers()
    for header in json_record["headers"]:
        schema = record_schema_of(header["schema"])
        headers.add_header(Header(header["key"], _value_of(schema, header["value"]), schema))
    key_schema, value_schema = record_schema_of(json_record["keySchema"]), record_schema_of(json_record["valueSchema"])
    contents: dict[str, Any] = {
        "topic": json_record["topic"],
        "kafka_partition": json_record["kafkaPartition"],
        "key_schema": key_schema,
        "key": _value_of(key_schema, json_record["key"]),
        "value_schema": value_schema,
        "value": _value_of(value_schema, json_record["value"]),
        "timestamp": json_record["timestamp"],
        "headers": headers,
    }
    if json_record["kind"] == "source":
        return SourceRecord({"p": 1}, {"o": 2}, **contents)
    untold = TimestampType.NO_TIMESTAMP_TYPE if json_record["timestamp"] is None else TimestampType.CREATE_TIME
    timestamp_type = TimestampType(json_record.get("timestampType", untold.value))
    return SinkRecord(kafka_offset=json_record["kafkaOffset"], timestamp_type=timestamp_type, **contents)


def record_schema_of(json_schema: dict[str, Any] | None) -> Schema | None:
    """The schema that a vector describes, also one of structs with a default."""
    if json_schema is None or json_schema["type"] != "struct":
        return schema_of(json_schema)
    bare = schema_of({key: entry for key, entry in json_schema.items() if key not in ("fields", "default")})
    assert bare is not None
    fields = [(field["field"], record_schema_of(field["schema"])) for field in json_schema.get("fields", ())]
    schema = bare.replace(fields=tuple(Field(name, i, inner) for i, (name, inner) in enumerate(fields) if inner))
    return schema.replace(default=_value_of(schema, json_schema["default"])) if "default" in json_schema else schema


def same_record(expected_json: Mapping[str, Any] | None, record: ConnectRecord | None) -> bool:
    """Whether a record is the expected one: values by type, scale and not-a-number, schemas with their defaults."""
    if expected_json is None or record is None:
        return expected_json is record
    expected = record_of(expected_json)
    return (
        type(expected) is type(record)
        and _coordinates(expected) == _coordinates(record)
        and _same_data((expected.key_schema, expected.key), (record.key_schema, record.key))
        and _same_data((expected.value_schema, expected.value), (record.value_schema, record.value))
        and [header.key for header in expected.headers] == [header.key for header in record.headers]
        and all(
            _same_data((e.schema, e.value), (a.schema, a.value))
            for e, a in zip(expected.headers, record.headers, strict=True)
        )
    )


def run_transform(vector: Mapping[str, Any], transformation: Transformation[Any]) -> None:
    """Configure a new transformation and send the vector's record, or records, through it."""
    if BOX_WIDTH in vector.get("java", ()):
        pytest.skip("rests on types that Python does not have")
    given = vector["input"].get("records") or [vector["input"]["record"]]
    output = vector.get("output")
    expected_records = output if isinstance(output, list) else [output]
    try:
        records = [record_of(record) for record in given]
        for record in filter(None, expected_records):
            record_of(record)
    except NotInPython as reason:
        pytest.skip(str(reason))
    if "error" in vector:
        _expect_error(vector, transformation, records)
        return
    transformation.configure(vector["config"])
    # The second time by way of what the first one compiled.
    for record, expected in [*zip(records, expected_records, strict=True), (records[0], expected_records[0])]:
        before = record.replace()
        found = transformation.apply(record)
        assert same_record(expected, found), (expected, found)
        assert _unchanged(before, record), "the input was changed"
    transformation.close()


def run_describe(vector: Mapping[str, Any], config: ConfigDef) -> None:
    """Compare a definition with what `GET /connector-plugins/<class>/config` lists, the documentation aside."""
    actual = [
        {
            "name": key.name,
            "type": key.type.value,
            "required": not key.has_default,
            "default_value": value_to_string(key.default, key.type) if key.has_default else None,
            "importance": key.importance.value,
            "group": key.group,
            "order_in_group": key.order_in_group,
            "width": key.width.value,
            "display_name": key.display_name,
            "dependents": list(key.dependents),
        }
        for key in config.config_keys.values()
    ]
    assert sorted(actual, key=lambda key: str(key["name"])) == sorted(vector["output"], key=lambda key: key["name"])
    assert all(key.doc for key in config.config_keys.values())


def _expect_error(
    vector: Mapping[str, Any], transformation: Transformation[Any], records: list[SourceRecord | SinkRecord]
) -> None:
    error = vector["error"]
    kind = ConnectError if ACCIDENTAL in vector.get("java", ()) else ERRORS[error["class"]]
    if error["phase"] == "configure":
        with pytest.raises(kind):
            transformation.configure(vector["config"])
        return
    transformation.configure(vector["config"])
    with pytest.raises(kind):
        for record in records:
            transformation.apply(record)


def _value_of(schema: Schema | None, value: Any) -> Any:
    try:
        with decimal.localcontext(prec=1000):
            return value_of(schema, _rounded(value))
    except OverflowError as error:
        raise NotInPython("a moment beyond the years 1 to 9999") from error


def _rounded(value: Any) -> Any:
    """The JSON with tagged float32 numbers in full length: their text is the shortest that distinguishes them."""
    if isinstance(value, dict):
        if value.keys() == {"$float32"} and isinstance(value["$float32"], int | float):
            return to_float32(value["$float32"])
        return {key: _rounded(entry) for key, entry in value.items()}
    return [_rounded(entry) for entry in value] if isinstance(value, list) else value


def _coordinates(record: SourceRecord | SinkRecord) -> tuple[Any, ...]:
    if isinstance(record, SourceRecord):
        own: tuple[Any, ...] = (record.source_partition, record.source_offset)
    else:
        own = (record.kafka_offset, record.timestamp_type)
    return (record.topic, record.kafka_partition, record.timestamp, *own)


def _unchanged(before: ConnectRecord, record: ConnectRecord) -> bool:
    # Headers may be changed in place; values are compared so that not-a-number equals itself.
    return same(None, [before.key, before.value], [record.key, record.value]) and before.topic == record.topic


def _same_data(expected: tuple[Schema | None, Any], actual: tuple[Schema | None, Any]) -> bool:
    return _same_schema(expected[0], actual[0]) and same(expected[0], expected[1], actual[1])


def _same_schema(expected: Schema | None, actual: Schema | None) -> bool:
    """Equality that also distinguishes a default 1 from 1.0 and True."""
    if expected is None or actual is None:
        return expected is actual
    return (
        expected == actual
        and same(None, expected.default, actual.default)
        and _same_schema(expected.key_schema, actual.key_schema)
        and _same_schema(expected.value_schema, actual.value_schema)
        and all(_same_schema(e.schema, a.schema) for e, a in zip(expected.fields, actual.fields, strict=True))
    )
