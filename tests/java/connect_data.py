# SPDX-License-Identifier: Apache-2.0
"""Strategies of schemas and of values that fit them."""

from __future__ import annotations

import datetime
from typing import Any

from hypothesis import strategies as st

from headrace.api.headers import Header, Headers
from headrace.api.logical import make_decimal, schema_scale
from headrace.api.record import SourceRecord
from headrace.api.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, Struct, Type
from headrace.api.schema_builder import SchemaBuilder

NAMES = st.text(min_size=1, max_size=8)


def _to_millis(moment: Any) -> Any:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000, fold=0)


def _integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


PLAIN: dict[Type, st.SearchStrategy[Any]] = {
    Type.INT8: _integers(8),
    Type.INT16: _integers(16),
    Type.INT32: _integers(32),
    Type.INT64: _integers(64),
    Type.FLOAT32: st.floats(width=32),
    Type.FLOAT64: st.floats(),
    Type.BOOLEAN: st.booleans(),
    Type.STRING: st.text(),
    Type.BYTES: st.binary(),
}
LOGICAL: dict[str, st.SearchStrategy[Any]] = {
    DATE: st.dates(),
    TIME: st.times().map(_to_millis),
    TIMESTAMP: st.datetimes(timezones=st.just(datetime.UTC)).map(_to_millis),
}


@st.composite
def values(draw: st.DrawFn, schema: Schema) -> Any:
    """A value that fits the schema."""
    if schema.optional and draw(st.booleans()):
        return None
    if schema.name == DECIMAL:
        return make_decimal(draw(st.integers(-(10**40), 10**40)), schema_scale(schema))
    if schema.name in LOGICAL:
        return draw(LOGICAL[schema.name])
    if schema.type is Type.ARRAY:
        assert schema.value_schema is not None
        return draw(st.lists(values(schema.value_schema), max_size=3))
    if schema.type is Type.MAP:
        assert schema.key_schema is not None and schema.value_schema is not None
        return draw(st.dictionaries(values(schema.key_schema), values(schema.value_schema), max_size=3))
    if schema.type is Type.STRUCT:
        return Struct(schema, {field.name: draw(values(field.schema)) for field in schema.fields})
    return draw(PLAIN[schema.type])


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> Schema:
    """A schema with all that one can have, and a default that fits it."""
    kinds = ["plain", "plain", "logical", *(["array", "map", "struct"] if depth else [])]
    builder = _BUILDERS[draw(st.sampled_from(kinds))](draw, depth)
    if draw(st.booleans()):
        builder.optional()
    if draw(st.booleans()):
        builder.doc(draw(st.text()))
    schema = builder.build()
    if draw(st.integers(0, 3)) == 0:
        schema = schema.replace(default=draw(values(schema)))
    return schema


def _plain(draw: st.DrawFn, depth: int) -> SchemaBuilder:
    builder = SchemaBuilder(draw(st.sampled_from(list(PLAIN))))
    if draw(st.booleans()):
        builder.name(draw(st.sampled_from(["io.debezium.time.MicroTimestamp", "my.name", "é"])))
        builder.version(draw(st.integers(1, 100)))
        builder.parameters(draw(st.dictionaries(NAMES, st.text(), max_size=2)))
    return builder


def _logical(draw: st.DrawFn, depth: int) -> SchemaBuilder:
    scale = draw(st.integers(-3, 20))
    return draw(
        st.sampled_from(
            [SchemaBuilder.decimal(scale), SchemaBuilder.date(), SchemaBuilder.time(), SchemaBuilder.timestamp()]
        )
    )


def _array(draw: st.DrawFn, depth: int) -> SchemaBuilder:
    return SchemaBuilder.array(draw(schemas(depth - 1)))


def _map(draw: st.DrawFn, depth: int) -> SchemaBuilder:
    # Not-a-number as a key equals no other.
    keys = draw(st.sampled_from([Schema.STRING, Schema.INT32, Schema.OPTIONAL_STRING, Schema.DATE, Schema.BOOLEAN]))
    return SchemaBuilder.map(keys, draw(schemas(depth - 1)))


def _struct(draw: st.DrawFn, depth: int) -> SchemaBuilder:
    builder = SchemaBuilder.struct().name(draw(NAMES))
    for name in draw(st.lists(NAMES, unique=True, max_size=4)):
        builder.field(name, draw(schemas(depth - 1)))
    return builder


_BUILDERS = {"plain": _plain, "logical": _logical, "array": _array, "map": _map, "struct": _struct}


class Case:
    """A schema and a value of it. Hypothesis prints it by `repr`: field by field, a schema would fill a book."""

    def __init__(self, schema: Schema, value: Any) -> None:
        self.schema = schema
        self.value = value

    def __repr__(self) -> str:
        return f"Case({self.schema!r}, {self.value!r})"


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A schema with a value."""
    schema = draw(schemas())
    return Case(schema, draw(values(schema)))


@st.composite
def polled(draw: st.DrawFn) -> list[SourceRecord]:
    """Records of few schemas, some without a key, a value, headers or a timestamp."""
    kinds = draw(st.lists(st.none() | schemas(1), min_size=1, max_size=3))

    def data(schema: Schema | None) -> Any:
        return draw(st.none() | st.text() if schema is None else values(schema))

    def record(offset: int) -> SourceRecord:
        key, value, header = (draw(st.sampled_from(kinds)) for _ in range(3))
        headers = Headers(Header(name, data(header), header) for name in draw(st.lists(st.text(), max_size=2)))
        topic, timestamp = draw(st.none() | st.text()), draw(st.none() | st.integers(0, 2**40))
        partition = draw(st.none() | st.integers(0, 9))
        return SourceRecord(
            {}, {"at": offset}, topic, partition, key, data(key), value, data(value), timestamp, headers
        )

    return [record(offset) for offset in range(draw(st.integers(1, 6)))]
