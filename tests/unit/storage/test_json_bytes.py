# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import datetime
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.errors import DataError
from headrace.storage import json_bytes

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_what_is_written_is_read(value: Any) -> None:
    assert json_bytes.loads(json_bytes.dumps(value)) == value
    assert json.loads(json_bytes.dumps(value)) == value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"b": 1, "a": [True, None, 1.5]}, '{"b":1,"a":[true,null,1.5]}'),
        ('näme \x1f\x7f\t"\\/', '"näme \\u001F\x7f\\t\\"\\\\/"'),
        (1e10, "1.0E10"),
        (0.0001, "1.0E-4"),
        (float("nan"), '"NaN"'),
        (float("-inf"), '"-Infinity"'),
        (b"\x00\xff", '"AP8="'),
        (2**70, str(2**70)),
    ],
)
def test_bytes_are_javas(value: object, expected: str) -> None:
    assert json_bytes.dumps(value) == expected.encode()


def test_whole_numbers_keep_their_digits() -> None:
    assert json_bytes.loads(b'{"n":[123456789012345678901234567890]}') == {"n": [123456789012345678901234567890]}


@pytest.mark.parametrize("value", [datetime.date(2026, 1, 1), {1, 2}, object(), "\ud800"])
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(DataError):
        json_bytes.dumps({"x": value})


def test_a_number_that_is_too_great_is_infinite() -> None:
    assert json_bytes.loads(b'{"n":[1e400,-1e400]}') == {"n": [float("inf"), float("-inf")]}


@pytest.mark.parametrize("data", [b"", b"{nope", b"\xff", b"NaN", b"[-Infinity]", b'"\\ud800"'])
def test_what_is_not_json_is_refused(data: bytes) -> None:
    with pytest.raises(DataError):
        json_bytes.loads(data)
