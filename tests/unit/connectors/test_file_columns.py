# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import pytest

from headrace.api.errors import ConnectError
from headrace.connectors.spark_files.file_columns import evolved, expressions

FIRST = [["id", "bigint"], ["name", "string"]]
KNOWN = json.dumps(FIRST)


@pytest.mark.parametrize("policy", ["add", "fail", "ignore"])
def test_the_first_file_says_what_columns_there_are(policy: str) -> None:
    assert json.loads(evolved(None, FIRST, policy, "f")) == FIRST
    assert evolved(KNOWN, FIRST, policy, "f") == KNOWN


def test_new_columns_are_added_behind_the_others() -> None:
    now = [["age", "int"], ["id", "bigint"]]
    assert json.loads(evolved(KNOWN, now, "add", "f")) == [*FIRST, ["age", "int"]]
    assert evolved(KNOWN, now, "ignore", "f") == KNOWN


@pytest.mark.parametrize(
    ("before", "now", "added", "ignored"),
    [
        ("int", "bigint", "bigint", "int"),
        ("bigint", "int", "bigint", "bigint"),
        ("bigint", "double", "double", "bigint"),
        ("float", "smallint", "double", "float"),
        ("double", "float", "double", "double"),
        ("date", "timestamp", "timestamp", "date"),
        ("string", "bigint", "string", "string"),
        ("bigint", "string", "bigint", "bigint"),
        ("struct<a:int>", "struct<a:bigint>", "struct<a:int>", "struct<a:int>"),
    ],
)
def test_numbers_that_need_more_room_get_it(before: str, now: str, added: str, ignored: str) -> None:
    known = json.dumps([["c", before]])
    assert json.loads(evolved(known, [["c", now]], "add", "f")) == [["c", added]]
    assert json.loads(evolved(known, [["c", now]], "ignore", "f")) == [["c", ignored]]


def test_whatever_differs_is_reported() -> None:
    with pytest.raises(ConnectError) as raised:
        evolved(KNOWN, [["id", "int"], ["age", "int"]], "fail", "in/f.csv")
    assert "in/f.csv" in str(raised.value)
    assert "age int is new; name string is missing; id is int and was bigint" in str(raised.value)


def test_each_column_is_taken_cast_or_null() -> None:
    assert expressions([["id", "bigint"], ["a`b", "string"], ["c", "int"]], [["c", "int"], ["id", "int"]]) == [
        "CAST(`id` AS bigint) AS `id`",
        "CAST(NULL AS string) AS `a``b`",
        "`c`",
    ]
