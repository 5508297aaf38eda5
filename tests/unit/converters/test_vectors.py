# SPDX-License-Identifier: Apache-2.0
"""The converters against what Java's do: tests/vectors."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from headrace.api.config_def import value_to_string
from headrace.api.errors import ConnectError
from headrace.converters.byte_array_converter import ByteArrayConverter
from headrace.converters.json_converter import JsonConverter
from headrace.converters.simple_header_converter import SimpleHeaderConverter
from headrace.converters.string_converter import StringConverter
from tests.support.vectors import BOX_WIDTH, NotInPython, load, same, schema_of, value_of

JSON = "org.apache.kafka.connect.json.JsonConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"
SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
CLASSES = {JSON: JsonConverter, STRING: StringConverter, BYTES: ByteArrayConverter}
# datetime.time ends before Java's does.
MIDNIGHT_AS_24 = "from-time-too-big"


def configured(vector: dict[str, Any]) -> Any:
    converter = CLASSES[vector["class"]]()
    converter.configure(vector["config"], vector.get("isKey", False))
    return converter


def written(vector: dict[str, Any]) -> bytes | None:
    source = vector["input"]
    schema = schema_of(source["schema"])
    value = value_of(schema, source["value"])
    return configured(vector).from_connect_data(source["topic"], schema, value)


def run_from(vector: dict[str, Any]) -> None:
    if BOX_WIDTH in vector.get("java", ()) or vector["id"].endswith(MIDNIGHT_AS_24):
        pytest.skip("rests on types that Python does not have")
    if "error" in vector:
        with pytest.raises((ConnectError, NotInPython)):
            written(vector)
        return
    expected = vector["output"]
    actual = written(vector)
    assert actual == (None if expected is None else base64.b64decode(expected["$bytes"]))


def run_to(vector: dict[str, Any]) -> None:
    raw = vector["input"]["bytes"]
    data = None if raw is None else base64.b64decode(raw["$bytes"])
    if "error" in vector:
        with pytest.raises(ConnectError):
            configured(vector).to_connect_data("orders", data)
        return
    schema, value = configured(vector).to_connect_data("orders", data)
    expected_schema = schema_of(vector["output"]["schema"])
    assert schema == expected_schema
    expected = value_of(expected_schema, vector["output"]["value"])
    assert same(schema, expected, value), (expected, value)


def run_round_trip(vector: dict[str, Any]) -> None:
    converter = configured(vector)
    source = vector["input"]
    schema = schema_of(source["schema"])
    for _ in range(2):  # the second time by way of what the first one compiled
        data = converter.from_connect_data("orders", schema, value_of(schema, source["value"]))
        found, value = converter.to_connect_data("orders", data)
        expected_schema = schema_of(vector["output"]["schema"])
        assert found == expected_schema
        assert same(found, value_of(expected_schema, vector["output"]["value"]), value)


def run_describe(vector: dict[str, Any]) -> None:
    keys = CLASSES[vector["class"]]().config().config_keys.values()
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
        for key in keys
    ]
    assert sorted(actual, key=lambda key: str(key["name"])) == sorted(vector["output"], key=lambda key: key["name"])


RUN = {
    "fromConnectData": run_from,
    "fromConnectHeader": run_from,
    "toConnectData": run_to,
    "toConnectHeader": run_to,
    "roundTrip": run_round_trip,
    "describe": run_describe,
}


@pytest.mark.parametrize(
    "vector", [*load("json_converter"), *load("converters", class_=STRING), *load("converters", class_=BYTES)]
)
def test_as_java(vector: dict[str, Any]) -> None:
    RUN[vector["op"]](vector)


@pytest.mark.parametrize("vector", load("converters", class_=SIMPLE, op="fromConnectHeader"))
def test_simple_headers_are_written_as_java_does(vector: dict[str, Any]) -> None:
    given, expected = vector["input"], vector["output"]
    schema = schema_of(given["schema"])
    value = value_of(schema, given["value"])
    actual = SimpleHeaderConverter().from_connect_header("t", given["headerKey"], schema, value)
    assert actual == (None if expected is None else base64.b64decode(expected["$bytes"]))
