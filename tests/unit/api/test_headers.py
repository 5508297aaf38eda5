# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import decimal

import pytest

from headrace.api.errors import DataError
from headrace.api.headers import Header, Headers
from headrace.api.schema import Schema


def headers() -> Headers:
    return Headers().add("a", 1).add("b", 2).add("a", 3).add("b", 4)


def values(given: Headers) -> list[object]:
    return [header.value for header in given]


def test_order_and_lookup() -> None:
    assert values(headers()) == [1, 2, 3, 4]
    assert headers().last_with_name("a") == Header("a", 3)
    assert headers().last_with_name("c") is None
    assert [header.value for header in headers().all_with_name("b")] == [2, 4]


def test_retain_latest() -> None:
    assert values(headers().retain_latest("a")) == [2, 3, 4]
    assert values(headers().retain_latest()) == [3, 4]


def test_remove_apply_duplicate_clear() -> None:
    assert values(headers().remove("a")) == [2, 4]
    assert values(headers().apply(lambda h: h.with_value(h.value * 10, None), "b")) == [1, 20, 3, 40]
    assert values(headers().apply(lambda h: None if h.key == "a" else h)) == [2, 4]
    original = headers()
    original.duplicate().clear()
    assert len(original) == 4


def test_values_are_checked_against_their_schema() -> None:
    with pytest.raises(DataError, match="out of range"):
        Headers().add_byte("k", 128)
    with pytest.raises(DataError):
        Headers().add_string("k", 1)  # type: ignore[arg-type]
    found = Headers().add_decimal("d", decimal.Decimal("1.50")).last_with_name("d")
    assert found is not None and found.schema is not None and found.schema.parameters == {"scale": "2"}
    assert Headers().add_string("n", None).last_with_name("n") == Header("n", None, Schema.OPTIONAL_STRING)
