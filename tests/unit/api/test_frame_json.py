# SPDX-License-Identifier: Apache-2.0
"""The types that JSON is parsed to. What becomes of values: tests/integration/test_examples_chain.py."""

from __future__ import annotations

import pytest
from pyspark.sql import types as t

from headrace.api import frame_json

NESTED = (
    t.StructType()
    .add("a `b`", t.StructType().add("day", t.DateType()).add("n", t.DecimalType(10, 2)))
    .add("m", t.MapType(t.StringType(), t.ArrayType(t.TimestampType())))
    .add("plain", t.TimestampNTZType())
)


def test_dates_and_timestamps_are_parsed_as_what_the_json_has() -> None:
    assert frame_json._read_type(NESTED) == (
        "STRUCT<`a ``b```: STRUCT<`day`: VARIANT, `n`: decimal(10,2)>, `m`: MAP<string, ARRAY<VARIANT>>, "
        "`plain`: VARIANT>"
    )


@pytest.mark.parametrize("kind", [t.IntegerType(), t.ArrayType(t.StructType().add("n", t.StringType()))], ids=str)
def test_other_types_are_parsed_as_they_are(kind: t.DataType) -> None:
    assert frame_json._converted(kind, "value") == "value"
    assert frame_json._unfit(kind, "value") == "false"


def test_each_level_has_a_name_of_its_own() -> None:
    expression = frame_json._converted(NESTED, "value")
    assert "transform_values(value.`m`, (key1, entry1) -> transform(entry1, entry2 -> CASE" in expression
    assert "'a `b`', CASE WHEN value.`a ``b``` IS NOT NULL THEN named_struct('day', " in expression
