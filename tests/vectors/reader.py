# SPDX-License-Identifier: Apache-2.0
"""Golden vectors of Java Kafka Connect: how to read them. README.md explains their encoding."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
from pathlib import Path
from typing import Any

import pytest

from headrace.api.java_text import to_float32
from headrace.api.logical import scale_of
from headrace.api.schema import DATE, TIME, TIMESTAMP, Schema, Struct, Type
from headrace.api.schema_builder import SchemaBuilder

DIRECTORY = Path(__file__).parent
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class NotInPython(Exception):
    """The vector holds a value that Python's types cannot."""


# Java distinguishes an Integer from a Long, a Float from a Double; Python does not.
BOX_WIDTH = "box width"


def load(area: str, **wanted: Any) -> list[Any]:
    """The vectors of an area whose members equal `wanted`, as pytest parameters. `class_` stands for `class`."""
    wanted = {key.rstrip("_"): value for key, value in wanted.items()}
    lines = (DIRECTORY / f"{area}.jsonl").read_text(encoding="utf-8").rstrip("\n").split("\n")  # not splitlines: U+2028
    vectors = [json.loads(line) for line in lines]
    found = [v for v in vectors if all(v.get(key) == value for key, value in wanted.items())]
    assert found, f"no vectors of {area} with {wanted}"
    return [pytest.param(vector, id=vector["id"].rpartition("/")[2]) for vector in found]


def schema_of(json_schema: dict[str, Any] | None) -> Schema | None:
    """The schema that a vector describes."""
    if json_schema is None:
        return None
    builder = SchemaBuilder(Type(json_schema["type"]))
    if json_schema["type"] == "array":
        builder = SchemaBuilder.array(schema_of(json_schema.get("valueSchema")))
    elif json_schema["type"] == "map":
        builder = SchemaBuilder.map(schema_of(json_schema.get("keySchema")), schema_of(json_schema.get("valueSchema")))
    for field in json_schema.get("fields", ()):
        builder.field(field["field"], schema_of(field["schema"]))
    for attribute in ("name", "version", "doc", "parameters"):
        if attribute in json_schema:
            getattr(builder, attribute)(json_schema[attribute])
    if json_schema.get("optional"):
        builder.optional()
    if "default" in json_schema:
        builder.default_value(value_of(builder.build(), json_schema["default"]))
    return builder.build()


def value_of(schema: Schema | None, value: Any) -> Any:
    """The Python value that a vector describes; with `schema`, as far as it fits that."""
    if isinstance(value, dict):
        tag = next((key for key in value if key.startswith("$")), None)
        if tag is not None:
            return _tagged(schema, tag, value)
        if schema is not None and schema.type is Type.STRUCT:
            given = {name: value_of(schema.field(name).schema, entry) for name, entry in value.items()}
            return Struct(schema, {name: entry for name, entry in given.items() if entry is not None})
        inner = schema.value_schema if schema is not None else None
        return {key: value_of(inner, entry) for key, entry in value.items()}
    if isinstance(value, list):
        inner = schema.value_schema if schema is not None else None
        return [value_of(inner, entry) for entry in value]
    if schema is not None and schema.type is Type.FLOAT64 and type(value) is int:
        return float(value)
    if schema is not None and schema.type is Type.FLOAT32 and type(value) in (int, float):
        return to_float32(value)
    return value


def _tagged(schema: Schema | None, tag: str, value: dict[str, Any]) -> Any:
    payload = value[tag]
    match tag:
        case "$bytes":
            return base64.b64decode(payload)
        case "$decimal":
            exact = decimal.Context(prec=10_000)
            scaled = decimal.Decimal(payload).quantize(decimal.Decimal((0, (1,), -value["scale"])), context=exact)
            assert scale_of(scaled) == value["scale"]
            return scaled
        case "$millis":
            return _moment(schema.name if schema is not None else TIMESTAMP, payload)
        case "$float":
            return float(payload)
        case "$bigint":
            return int(payload)
        case "$struct":
            return value_of(schema_of(payload["schema"]), payload["value"])
        case "$map":
            inner = (schema.key_schema, schema.value_schema) if schema is not None else (None, None)
            return {value_of(inner[0], key): value_of(inner[1], entry) for key, entry in payload}
    return payload


def _moment(name: str | None, millis: int) -> Any:
    moment = EPOCH + datetime.timedelta(milliseconds=millis)
    if name == DATE:
        if millis % 86_400_000:
            raise NotInPython("a date with a time of day")
        return moment.date()
    if name == TIME:
        if not 0 <= millis < 86_400_000:
            raise NotInPython("a time of day beyond the day")
        return moment.time()
    return moment


def same(schema: Schema | None, expected: Any, actual: Any) -> bool:
    """Whether a value is the expected one, including type, scale and not-a-number."""
    if isinstance(expected, float) and expected != expected:
        return isinstance(actual, float) and actual != actual
    if isinstance(expected, decimal.Decimal):
        return isinstance(actual, decimal.Decimal) and expected.as_tuple() == actual.as_tuple()
    if isinstance(expected, (list, tuple)) and isinstance(actual, (list, tuple)):
        return len(expected) == len(actual) and all(map(same, [schema] * len(expected), expected, actual))
    if isinstance(expected, Struct) and isinstance(actual, Struct):
        pairs = zip(expected.field_values, actual.field_values, strict=True)
        return expected.schema == actual.schema and all(same(None, e, a) for e, a in pairs)
    if isinstance(expected, dict) and isinstance(actual, dict):
        return expected.keys() == actual.keys() and all(same(None, e, actual[k]) for k, e in expected.items())
    return type(expected) is type(actual) and bool(expected == actual)
