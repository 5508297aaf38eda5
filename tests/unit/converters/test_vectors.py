# SPDX-License-Identifier: Apache-2.0
"""The converters against what Java's do: tests/vectors."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from headrace.api.errors import ConnectError
from headrace.converters import number_converters
from headrace.converters.boolean_converter import BooleanConverter
from headrace.converters.byte_array_converter import ByteArrayConverter
from headrace.converters.json_converter import JsonConverter
from headrace.converters.simple_header_converter import SimpleHeaderConverter
from headrace.converters.string_converter import StringConverter
from tests.unit.record_vectors import run_describe
from tests.vectors.reader import BOX_WIDTH, NotInPython, load, same, schema_of, value_of

STORAGE = "org.apache.kafka.connect.storage."
CONVERTERS = "org.apache.kafka.connect.converters."
CLASSES: dict[str, type[Any]] = {
    "org.apache.kafka.connect.json.JsonConverter": JsonConverter,
    f"{STORAGE}StringConverter": StringConverter,
    f"{STORAGE}SimpleHeaderConverter": SimpleHeaderConverter,
    f"{CONVERTERS}ByteArrayConverter": ByteArrayConverter,
    f"{CONVERTERS}BooleanConverter": BooleanConverter,
    f"{CONVERTERS}ShortConverter": number_converters.ShortConverter,
    f"{CONVERTERS}IntegerConverter": number_converters.IntegerConverter,
    f"{CONVERTERS}LongConverter": number_converters.LongConverter,
    f"{CONVERTERS}FloatConverter": number_converters.FloatConverter,
    f"{CONVERTERS}DoubleConverter": number_converters.DoubleConverter,
}
# datetime.time ends before Java's does.
MIDNIGHT_AS_24 = "from-time-too-big"


def configured(vector: dict[str, Any]) -> Any:
    converter = CLASSES[vector["class"]]()
    if vector["op"].endswith("Header"):
        converter.configure({**vector["config"], "converter.type": "header"})
    else:
        converter.configure(vector["config"], vector.get("isKey", False))
    return converter


def written(vector: dict[str, Any]) -> bytes | None:
    source = vector["input"]
    schema = schema_of(source["schema"])
    value = value_of(schema, source["value"])
    if vector["op"] == "fromConnectHeader":
        return configured(vector).from_connect_header(source["topic"], source["headerKey"], schema, value)
    return configured(vector).from_connect_data(source["topic"], schema, value)


def read(vector: dict[str, Any]) -> Any:
    source = vector["input"]
    data = None if source["bytes"] is None else base64.b64decode(source["bytes"]["$bytes"])
    if vector["op"] == "toConnectHeader":
        return configured(vector).to_connect_header(source["topic"], source["headerKey"], data)
    return configured(vector).to_connect_data(source["topic"], data)


def run_from(vector: dict[str, Any]) -> None:
    if vector["id"].endswith(MIDNIGHT_AS_24):
        pytest.skip("datetime.time ends before Java's time of day does")
    if "error" in vector:
        if BOX_WIDTH in vector.get("java", ()):
            pytest.skip("to Java the value has the wrong width; Python's numbers have none")
        with pytest.raises((ConnectError, NotInPython)):
            written(vector)
        return
    expected = vector["output"]
    actual = written(vector)
    assert actual == (None if expected is None else base64.b64decode(expected["$bytes"]))


def run_to(vector: dict[str, Any]) -> None:
    if "error" in vector:
        with pytest.raises(ConnectError):
            read(vector)
        return
    schema, value = read(vector)
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


RUN = {
    "fromConnectData": run_from,
    "fromConnectHeader": run_from,
    "toConnectData": run_to,
    "toConnectHeader": run_to,
    "roundTrip": run_round_trip,
    "describe": lambda vector: run_describe(vector, CLASSES[vector["class"]]().config()),
}


@pytest.mark.parametrize("vector", [*load("json_converter"), *load("converters")])
def test_as_java(vector: dict[str, Any]) -> None:
    RUN[vector["op"]](vector)
