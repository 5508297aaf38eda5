# SPDX-License-Identifier: Apache-2.0
"""ExtractField beyond the vectors: paths, absent data, errors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.errors import ConfigError, DataError
from headrace.api.record import SourceRecord
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.transforms._paths import FieldPath
from headrace.transforms.extract_field import ExtractFieldKey, ExtractFieldValue

INNER = SchemaBuilder.struct().field("n", SchemaBuilder.int32().default_value(5).build()).optional().build()
OUTER = SchemaBuilder.struct().field("in", INNER).field("s", Schema.STRING).build()


def extract(schema: Schema | None, value: Any, field: str, **config: str) -> tuple[Schema | None, Any]:
    transformation: ExtractFieldValue[SourceRecord] = ExtractFieldValue()
    transformation.configure({"field": field, **{name.replace("_", "."): entry for name, entry in config.items()}})
    return transformation.apply_to(SourceRecord({}, {}, "t"), schema, value)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("a.b", ["a", "b"]),
        ("a..b", ["a", "", "b"]),
        (".", ["", ""]),
        ("a.", ["a", ""]),
        ("", []),
        ("`a.b`.c", ["a.b", "c"]),
        ("a.`b.c`", ["a", "b.c"]),
        ("`a`.", ["a", ""]),
        ("``.a", ["", "a"]),
        ("a`b", ["a`b"]),
        ("`a`b`.c", ["a`b", "c"]),
        (r"`a\`.b`.c", ["a`.b", "c"]),
        (r"`a\b`", [r"a\b"]),
    ],
)
def test_paths_of_version_2(text: str, steps: list[str]) -> None:
    assert FieldPath(text, "V2").steps == tuple(steps)
    assert FieldPath(text, "V1").steps == (text,)


@pytest.mark.parametrize(("text", "position"), [("`a", 0), ("a.`b", 2), (r"`a\`", 0), ("`", 0), ("`a`b", 0)])
def test_a_backtick_that_is_never_closed(text: str, position: int) -> None:
    with pytest.raises(ConfigError, match=f"position {position}"):
        FieldPath(text, "V2")


@given(st.lists(st.text("ab.", max_size=3), min_size=1, max_size=4))
def test_quoted_names_are_read_back(names: list[str]) -> None:
    assert FieldPath(".".join(f"`{name}`" for name in names), "v2").steps == tuple(names)


def test_the_way_ends_early() -> None:
    v2 = {"field_syntax_version": "V2"}
    assert extract(OUTER, Struct(OUTER, {"s": "x"}), "in.n", **v2) == (INNER.fields[0].schema, None)
    assert extract(OUTER, Struct(OUTER, {"in": Struct(INNER)}), "in.n", **v2) == (INNER.fields[0].schema, 5)
    assert extract(None, {"in": None}, "in.n", **v2) == (None, None)
    assert extract(None, {}, "in.n", **v2) == (None, None)


def test_an_inner_struct_keeps_its_own_schema() -> None:
    inner = Struct(INNER, {"n": 1})
    assert extract(OUTER, Struct(OUTER, {"in": inner}), "in") == (INNER, inner)


def test_an_unknown_field_is_named_with_those_that_exist() -> None:
    with pytest.raises(DataError, match=r"Unknown field: x; .* in, s"):
        extract(OUTER, Struct(OUTER), "x")
    with pytest.raises(DataError, match="Unknown field: x"):
        extract(OUTER, None, "x")


def test_a_step_into_what_is_no_struct_or_map() -> None:
    with pytest.raises(DataError, match="no struct but STRING"):
        extract(OUTER, Struct(OUTER), "s.x", field_syntax_version="V2")
    with pytest.raises(DataError, match=r"nested field access.*not int"):
        extract(None, {"s": 1}, "s.x", field_syntax_version="V2")


def test_an_empty_path_finds_nothing() -> None:
    for schema, value in ((None, {"": 1}), (OUTER, Struct(OUTER))):
        with pytest.raises(DataError, match="empty path"):
            extract(schema, value, "", field_syntax_version="V2")


def test_the_key() -> None:
    transformation: ExtractFieldKey[SourceRecord] = ExtractFieldKey()
    transformation.configure({"field": "a"})
    changed = transformation.apply(SourceRecord({}, {}, "t", key={"a": 1}, value={"a": 2}))
    assert changed == SourceRecord({}, {}, "t", key=1, value={"a": 2})
