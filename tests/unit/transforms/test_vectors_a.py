# SPDX-License-Identifier: Apache-2.0
"""Transformations of fields and schemas against what Java's do: tests/vectors/transforms.jsonl."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.api.transform import Transformation
from headrace.transforms.cast import CastKey, CastValue
from headrace.transforms.extract_field import ExtractFieldKey, ExtractFieldValue
from headrace.transforms.filter import Filter
from headrace.transforms.flatten import FlattenKey, FlattenValue
from headrace.transforms.hoist_field import HoistFieldKey, HoistFieldValue
from headrace.transforms.mask_field import MaskFieldKey, MaskFieldValue
from headrace.transforms.replace_field import ReplaceFieldKey, ReplaceFieldValue
from headrace.transforms.set_schema_metadata import SetSchemaMetadataKey, SetSchemaMetadataValue
from headrace.transforms.value_to_key import ValueToKey
from tests.unit.record_vectors import run_describe, run_transform
from tests.vectors.reader import load

PACKAGE = "org.apache.kafka.connect.transforms."
CLASSES: dict[str, type[Transformation[Any]]] = {
    "Cast$Key": CastKey,
    "Cast$Value": CastValue,
    "ExtractField$Key": ExtractFieldKey,
    "ExtractField$Value": ExtractFieldValue,
    "Filter": Filter,
    "Flatten$Key": FlattenKey,
    "Flatten$Value": FlattenValue,
    "HoistField$Key": HoistFieldKey,
    "HoistField$Value": HoistFieldValue,
    "MaskField$Key": MaskFieldKey,
    "MaskField$Value": MaskFieldValue,
    "ReplaceField$Key": ReplaceFieldKey,
    "ReplaceField$Value": ReplaceFieldValue,
    "SetSchemaMetadata$Key": SetSchemaMetadataKey,
    "SetSchemaMetadata$Value": SetSchemaMetadataValue,
    "ValueToKey": ValueToKey,
}


@pytest.mark.parametrize(
    ("name", "vector"),
    [
        pytest.param(name, *vector.values, id=f"{name}-{vector.id}")
        for name in CLASSES
        for vector in load("transforms", class_=PACKAGE + name)
    ],
)
def test_as_java(name: str, vector: dict[str, Any]) -> None:
    transformation = CLASSES[name]()
    if vector["op"] == "describe":
        run_describe(vector, transformation.config())
    else:
        run_transform(vector, transformation)
