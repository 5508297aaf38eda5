# SPDX-License-Identifier: Apache-2.0
"""Transformations of headers, topics and moments, and predicates, against what Java's do: tests/vectors."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.api.errors import ConfigError, DataError
from headrace.api.transform import Predicate, Transformation
from headrace.transforms.drop_headers import DropHeaders
from headrace.transforms.header_from import HeaderFromKey, HeaderFromValue
from headrace.transforms.insert_field import InsertFieldKey, InsertFieldValue
from headrace.transforms.insert_header import InsertHeader
from headrace.transforms.predicates import HasHeaderKey, RecordIsTombstone, TopicNameMatches
from headrace.transforms.regex_router import RegexRouter
from headrace.transforms.timestamp_converter import TimestampConverterKey, TimestampConverterValue
from headrace.transforms.timestamp_router import TimestampRouter
from tests.unit.record_vectors import record_of, run_describe, run_transform
from tests.vectors.reader import load

PACKAGE = "org.apache.kafka.connect.transforms."
TRANSFORMATIONS: dict[str, type[Transformation[Any]]] = {
    "DropHeaders": DropHeaders,
    "HeaderFrom$Key": HeaderFromKey,
    "HeaderFrom$Value": HeaderFromValue,
    "InsertField$Key": InsertFieldKey,
    "InsertField$Value": InsertFieldValue,
    "InsertHeader": InsertHeader,
    "RegexRouter": RegexRouter,
    "TimestampConverter$Key": TimestampConverterKey,
    "TimestampConverter$Value": TimestampConverterValue,
    "TimestampRouter": TimestampRouter,
}
PREDICATES: dict[str, type[Predicate[Any]]] = {
    "HasHeaderKey": HasHeaderKey,
    "RecordIsTombstone": RecordIsTombstone,
    "TopicNameMatches": TopicNameMatches,
}


@pytest.mark.parametrize(
    ("name", "vector"),
    [
        pytest.param(name, *vector.values, id=f"{name}-{vector.id}")
        for name in TRANSFORMATIONS
        for vector in load("transforms", class_=PACKAGE + name)
    ],
)
def test_transformations_as_java(name: str, vector: dict[str, Any]) -> None:
    transformation = TRANSFORMATIONS[name]()
    if vector["op"] == "describe":
        run_describe(vector, transformation.config())
    else:
        run_transform(vector, transformation)


@pytest.mark.parametrize(
    ("name", "vector"),
    [
        pytest.param(name, *vector.values, id=f"{name}-{vector.id}")
        for name in PREDICATES
        for vector in load("predicates", class_=f"{PACKAGE}predicates.{name}")
    ],
)
def test_predicates_as_java(name: str, vector: dict[str, Any]) -> None:
    predicate = PREDICATES[name]()
    if vector["op"] == "describe":
        run_describe(vector, predicate.config())
        return
    record = record_of(vector["input"]["record"])
    if "error" in vector:
        with pytest.raises(ConfigError if vector["error"]["class"] == "ConfigException" else DataError):
            predicate.configure(vector["config"])
            predicate.test(record)
        return
    predicate.configure(vector["config"])
    assert [predicate.test(record), predicate.test(record)] == [vector["output"]] * 2
    predicate.close()
