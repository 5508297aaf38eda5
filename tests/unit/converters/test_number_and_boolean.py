# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from headrace.api.converter import Converter
from headrace.api.errors import DataError
from headrace.api.schema import Schema
from headrace.converters.boolean_converter import BooleanConverter
from headrace.converters.number_converters import (
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
)


@pytest.mark.parametrize(
    "converter, value",
    [
        (ShortConverter(), 1 << 15),
        (IntegerConverter(), -(1 << 31) - 1),
        (LongConverter(), 1 << 63),
        (FloatConverter(), 1e39),
        (LongConverter(), True),
        (LongConverter(), 1.0),
        (DoubleConverter(), 1),
        (DoubleConverter(), "1"),
        (BooleanConverter(), 1),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Converter) else repr(each),
)
def test_values_of_another_type_or_range_are_refused(converter: Any, value: Any) -> None:
    with pytest.raises(DataError, match=type(converter).__name__):
        converter.from_connect_data("t", None, value)


def test_messages_name_topic_and_lengths() -> None:
    with pytest.raises(DataError, match="LongConverter cannot read from topic orders: int64 has 8 bytes, not 3"):
        LongConverter().to_connect_data("orders", b"abc")
    with pytest.raises(DataError, match="BooleanConverter cannot read b'2' from topic orders"):
        BooleanConverter().to_connect_data("orders", b"2")


def test_not_a_number_is_written_as_java_does() -> None:
    assert FloatConverter().from_connect_data("t", Schema.FLOAT32, float("nan")) == bytes.fromhex("7fc00000")
    assert DoubleConverter().from_connect_data("t", None, -0.0) == bytes.fromhex("8000000000000000")


def test_only_the_boolean_converter_looks_at_the_schema() -> None:
    assert LongConverter().from_connect_data("t", Schema.STRING, 1) == bytes(7) + b"\x01"
    with pytest.raises(DataError, match="schema type"):
        BooleanConverter().from_connect_data("t", Schema.STRING, None)
