# SPDX-License-Identifier: Apache-2.0
"""Debezium's semantic types: schemas that its own classes make, with any value that fits, to Python and back."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.java.data import java_value, python_schema, python_value
from headrace.java.jvm import find_class, java_class, jpype
from tests.java.java_connectors import debezium
from tests.java.test_data import assert_same_in_java

INT32: Final = st.integers(-(2**31), 2**31 - 1)
INT64: Final = st.integers(-(2**63), 2**63 - 1)
BYTES: Final = st.binary(max_size=20)
TYPES: Final[dict[str, tuple[tuple[Any, ...], st.SearchStrategy[Any]]]] = {
    "time.Date": ((), INT32),
    "time.Time": ((), INT32),
    "time.MicroTime": ((), INT64),
    "time.NanoTime": ((), INT64),
    "time.Timestamp": ((), INT64),
    "time.MicroTimestamp": ((), INT64),
    "time.NanoTimestamp": ((), INT64),
    "time.ZonedTime": ((), st.times().map(lambda each: f"{each.isoformat()}Z")),
    "time.ZonedTimestamp": ((), st.datetimes().map(lambda each: f"{each.isoformat()}Z")),
    "time.Year": ((), INT32),
    "time.Interval": ((), st.just("P1Y2M3DT4H5M6.78S")),
    "time.MicroDuration": ((), INT64),
    "data.Bits": ((62,), BYTES),
    "data.Enum": (("a,b,c",), st.sampled_from("abc")),
    "data.EnumSet": (("a,b,c",), st.sampled_from(["", "a", "a,c"])),
    "data.Json": ((), st.text()),
    "data.Uuid": ((), st.uuids().map(str)),
    "data.Xml": ((), st.text()),
    "data.vector.DoubleVector": ((), st.lists(st.floats(), max_size=3)),
    "data.VariableScaleDecimal": ((), st.tuples(INT32, BYTES)),
    "data.geometry.Point": ((), st.tuples(st.floats(), st.floats(), BYTES, st.none() | INT32)),
    "data.geometry.Geometry": ((), st.tuples(BYTES, st.none() | INT32)),
}
"""Of each class, the arguments of its `builder`, and its values: of a struct, those of its fields."""


@pytest.mark.parametrize("name", TYPES)
@given(data=st.data())
def test_a_value_is_the_same(name: str, data: st.DataObject) -> None:
    arguments, values = TYPES[name]
    found = jpype().JClass(find_class(debezium().jars, f"io.debezium.{name}"))
    schema = found.builder(*arguments).build()
    assert str(schema.name()).rpartition(".")[2] == name.rpartition(".")[2]
    assert_same_in_java(schema, _value(schema, data.draw(values)))


def _value(schema: Any, value: Any) -> Any:
    if not isinstance(value, tuple):
        return java_value(python_schema(schema), value)
    struct = java_class("org.apache.kafka.connect.data.Struct")(schema)
    for field, each in zip(schema.fields(), value, strict=True):
        if each is not None:
            struct.put(field, java_value(python_schema(field.schema()), each))
    return struct


def test_names_versions_and_parameters_are_in_python() -> None:
    found = jpype().JClass(find_class(debezium().jars, "io.debezium.data.Enum"))
    schema = python_schema(found.builder("a,b").optional().build())
    assert schema is not None
    assert (schema.name, schema.version, dict(schema.parameters or {})) == (
        "io.debezium.data.Enum",
        1,
        {"allowed": "a,b"},
    )
    assert python_value(found.builder("a,b").optional().build(), None) is None
