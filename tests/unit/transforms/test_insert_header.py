# SPDX-License-Identifier: Apache-2.0
"""InsertHeader beyond the vectors."""

from __future__ import annotations

import pytest

from headrace.api.errors import ConfigError
from headrace.api.headers import Header, Headers
from headrace.api.record import SourceRecord
from headrace.api.schema import Schema
from headrace.transforms.insert_header import InsertHeader


def insert(literal: str) -> InsertHeader[SourceRecord]:
    transformation: InsertHeader[SourceRecord] = InsertHeader()
    transformation.configure({"header": "h", "value.literal": literal})
    return transformation


@pytest.mark.parametrize("headers", [None, Headers(), Headers([Header("h", "old", Schema.STRING)])])
def test_the_header_comes_last_and_the_input_is_left_alone(headers: Headers | None) -> None:
    record = SourceRecord({}, {}, "t", value=1, headers=headers)
    before = list(headers or ())
    found = insert("5").apply(record)
    assert found is not None
    assert list(found.headers) == [*before, Header("h", 5, Schema.INT8)]
    assert list(record.headers) == before
    assert found.value == 1


def test_both_properties_are_needed() -> None:
    with pytest.raises(ConfigError, match=r"value\.literal"):
        InsertHeader[SourceRecord]().configure({"header": "h"})
    with pytest.raises(ConfigError, match="header"):
        InsertHeader[SourceRecord]().configure({"header": None, "value.literal": "x"})
