# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from headrace.api.errors import ConfigError
from headrace.inspection.dead_letters.letter import Letter
from headrace.inspection.dead_letters.letter_chain import redrive_letters
from headrace.inspection.dead_letters.letter_decoder import decode_letters
from headrace.inspection.dead_letters.letter_json import letter_to_json, outcome_from_json
from headrace.inspection.dead_letters.redrive_rules import Outcome
from headrace.task.errors.processing_context import ConsumedRecord

P = "__connect.errors."
STRINGS = {
    "connector.class": "FileStreamSource",
    "key.converter": "StringConverter",
    "value.converter": "StringConverter",
}
JSON = {
    "connector.class": "FileStreamSink",
    "value.converter": "JsonConverter",
    "value.converter.schemas.enable": "false",
}


def letter(value: bytes | None, **failure: bytes) -> Letter:
    headers = [("own", b"12"), *((P + name.replace("_", "."), text) for name, text in failure.items())]
    return Letter("c", ConsumedRecord("dead", 0, 7, b'"k"', value, headers, 1_700_000_000_123))


def redriven(letters: list[Letter], **spec: Any) -> list[Outcome]:
    items: list[Any] = []
    whole = {"worker": STRINGS, "writer": spec["connector"], "to_topic": None, **spec}
    redrive_letters({**whole, "letters": [letter_to_json(each) for each in letters]}, items.append)
    return [outcome_from_json(item) for item in items]


def test_a_sources_letters_go_through_chain_and_converters() -> None:
    cast = {"transforms": "age", "transforms.age.type": "Cast$Value", "transforms.age.spec": "int32"}
    route = {"transforms": "age,to", "transforms.to.type": "RegexRouter", "transforms.to.regex": "(.*)"}
    connector = {"name": "c", **STRINGS, **cast, **route, "transforms.to.replacement": "new-$1"}
    letters = [letter(b'"40"', topic=b"ages", source_partition=b'{"f":1}'), letter(b'"forty"', topic=b"ages")]
    fine, failed = redriven(letters, connector=connector, source=True)
    (record,) = fine.records
    assert (record.topic, record.key, record.value) == ("new-ages", b"k", b"40")
    assert (record.partition, record.timestamp, record.headers) == (None, 1_700_000_000_123, [("own", b"12")])
    assert "'forty' is no int32" in (failed.failure or "")


def test_letters_without_a_topic_need_one() -> None:
    connector = {"name": "c", **STRINGS}
    (without,) = redriven([letter(b'"1"')], connector=connector, source=True)
    assert "no header with its topic" in (without.failure or "")
    (named,) = redriven([letter(b'"1"')], connector=connector, source=True, to_topic="t")
    assert [(each.topic, each.value) for each in named.records] == [("t", b"1")]


def test_a_sinks_letters_are_read_by_the_edit_and_written_by_the_connector() -> None:
    own = {**JSON, "name": "c", "key.converter": "ByteArrayConverter"}
    hoist = {"transforms": "h", "transforms.h.type": "HoistField$Value", "transforms.h.field": "line"}
    edit = {**STRINGS, "name": "c", "key.converter": "ByteArrayConverter", **hoist}
    (outcome,) = redriven([letter(b"no json", topic=b"t")], connector=edit, writer=own, source=False)
    (record,) = outcome.records
    assert (record.topic, record.key, record.value) == ("t", b'"k"', b'{"line":"no json"}')
    assert record.headers == [("own", b"12")]


def test_a_sinks_letter_that_cannot_be_transformed_or_written_has_the_reason() -> None:
    edit = {**STRINGS, "name": "c"}
    cast = {"transforms": "age", "transforms.age.type": "Cast$Value", "transforms.age.spec": "int32"}
    own = {**JSON, "name": "c"}
    (failed,) = redriven([letter(b"forty", topic=b"t")], connector={**edit, **cast}, writer=own, source=False)
    assert failed.failure == "DataError: Cannot cast: 'forty' is no int32"
    bytes_only = {**own, "value.converter": "ByteArrayConverter"}
    (failed,) = redriven([letter(b"forty", topic=b"t")], connector=edit, writer=bytes_only, source=False)
    assert "ByteArrayConverter" in (failed.failure or "")


def test_a_letter_that_a_transformation_drops() -> None:
    drop = {"transforms": "d", "transforms.d.type": "Filter"}
    assert redriven([letter(b'"1"', topic=b"t")], connector={"name": "c", **STRINGS, **drop}, source=True) == [
        Outcome()
    ]


def test_frames_cannot_be_redriven() -> None:
    sql = {"transforms": "s", "transforms.s.type": "SparkSql", "transforms.s.sql": "SELECT 1"}
    with pytest.raises(ConfigError, match="DataFrames"):
        redriven([], connector={"name": "c", **STRINGS, **sql}, source=True)


def test_records_are_decoded() -> None:
    items: list[Any] = []
    spec = {"worker": STRINGS, "connector": {"name": "c", **JSON}, "source": False}
    letters = [letter(b'{"a": 1}', topic=b"t", partition=b"3", offset=b"9"), letter(b"no json", topic=b"t")]
    decode_letters({**spec, "letters": [letter_to_json(each) for each in letters]}, items.append)
    assert (items[0]["topic"], items[0]["partition"], items[0]["offset"]) == ("t", 3, 9)
    assert items[0]["value"]["value"] == {"a": 1}
    assert [header["key"] for header in items[0]["headers"]] == ["own"]
    assert "error" in items[1]["value"]
    decode_letters({**spec, "source": True, "letters": [letter_to_json(letters[0])]}, items.append)
    assert items[2]["key"]["value"] == "k"
