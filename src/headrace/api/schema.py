# SPDX-License-Identifier: Apache-2.0
"""Schemas and structs: the types of a record's data (Java: `org.apache.kafka.connect.data`).

The values are Python's: int for the four integer types (checked for range), float, bool, str, bytes (also bytearray and
memoryview), list or tuple, Mapping, `Struct`. Four logical types are recognised by their schema's name and have their
own values: `decimal.Decimal`, `datetime.date`, `datetime.time` and `datetime.datetime` (a naive one is taken as UTC)::

    user = SchemaBuilder.struct().name("user").field("id", Schema.INT64).field("since", Schema.DATE).build()
    struct = Struct(user).put("id", 7).put("since", datetime.date(2024, 2, 29))
"""

from __future__ import annotations

import builtins
import datetime
import decimal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum
from types import MappingProxyType
from typing import Any, ClassVar, Final

from headrace.api.errors import DataError

DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
DATE: Final = "org.apache.kafka.connect.data.Date"
TIME: Final = "org.apache.kafka.connect.data.Time"
TIMESTAMP: Final = "org.apache.kafka.connect.data.Timestamp"


class Type(Enum):
    """The types of schemas. The values are the names that Connect's JSON formats use."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"

    @property
    def is_primitive(self) -> bool:
        """True for types whose values contain no other values."""
        return self not in (Type.ARRAY, Type.MAP, Type.STRUCT)


INTEGER_BITS: Final[Mapping[Type, int]] = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_PYTHON_TYPES: Final[Mapping[Type, type | tuple[type, ...]]] = {
    Type.INT8: int,
    Type.INT16: int,
    Type.INT32: int,
    Type.INT64: int,
    Type.FLOAT32: float,
    Type.FLOAT64: float,
    Type.BOOLEAN: bool,
    Type.STRING: str,
    Type.BYTES: (bytes, bytearray, memoryview),
    Type.ARRAY: (list, tuple),
    Type.MAP: Mapping,
}
_EXACT_TYPES: Final[Mapping[Type, type]] = {  # nearly all values are of these
    **{kind: python for kind, python in _PYTHON_TYPES.items() if python in (int, float, bool, str)},
    Type.BYTES: bytes,
}
_LOGICAL_PYTHON_TYPES: Final[Mapping[str, type]] = {
    DECIMAL: decimal.Decimal,
    DATE: datetime.date,
    TIME: datetime.time,
    TIMESTAMP: datetime.datetime,
}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct schema; `index` is its position."""

    name: str
    index: int
    schema: Schema


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Schema:
    """An immutable schema. Compares by value; the hash is computed once, so schemas are cheap keys of caches.

    Build one with `SchemaBuilder`, or use a constant: `Schema.INT8` … `Schema.BYTES`, `Schema.DATE`, `Schema.TIME`,
    `Schema.TIMESTAMP`, each also as `Schema.OPTIONAL_…`. `version` is the version of the schema itself, `default`
    replaces an absent value, `key_schema` is set for maps, `value_schema` for maps and arrays, `fields` for structs.
    """

    type: Type
    optional: bool = False
    default: Any = None
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    parameters: Mapping[str, str] | None = None
    fields: tuple[Field, ...] = ()
    key_schema: Schema | None = None
    value_schema: Schema | None = None
    _index: Mapping[str, Field] = field(init=False)
    _hash: int = field(init=False)
    _exact: builtins.type | None = field(init=False)
    _limit: int = field(init=False)

    INT8: ClassVar[Schema]
    INT16: ClassVar[Schema]
    INT32: ClassVar[Schema]
    INT64: ClassVar[Schema]
    FLOAT32: ClassVar[Schema]
    FLOAT64: ClassVar[Schema]
    BOOLEAN: ClassVar[Schema]
    STRING: ClassVar[Schema]
    BYTES: ClassVar[Schema]
    DATE: ClassVar[Schema]
    TIME: ClassVar[Schema]
    TIMESTAMP: ClassVar[Schema]
    OPTIONAL_INT8: ClassVar[Schema]
    OPTIONAL_INT16: ClassVar[Schema]
    OPTIONAL_INT32: ClassVar[Schema]
    OPTIONAL_INT64: ClassVar[Schema]
    OPTIONAL_FLOAT32: ClassVar[Schema]
    OPTIONAL_FLOAT64: ClassVar[Schema]
    OPTIONAL_BOOLEAN: ClassVar[Schema]
    OPTIONAL_STRING: ClassVar[Schema]
    OPTIONAL_BYTES: ClassVar[Schema]
    OPTIONAL_DATE: ClassVar[Schema]
    OPTIONAL_TIME: ClassVar[Schema]
    OPTIONAL_TIMESTAMP: ClassVar[Schema]

    def __post_init__(self) -> None:
        store = object.__setattr__
        if self.parameters is not None:
            store(self, "parameters", MappingProxyType(dict(self.parameters)))
        store(self, "_index", {f.name: f for f in self.fields})
        store(self, "_hash", hash(self._hashed()))
        store(self, "_exact", None if self.name in _LOGICAL_PYTHON_TYPES else _EXACT_TYPES.get(self.type))
        store(self, "_limit", 1 << (INTEGER_BITS.get(self.type, 1) - 1))

    def field(self, name: str) -> Field | None:
        """Return the field with that name, or None. Raise DataError if this is not the schema of a struct."""
        if self.type is not Type.STRUCT:
            raise DataError(f"Cannot look up fields on a schema that is no struct but {self.type.name}")
        return self._index.get(name)

    def replace(self, **changes: Any) -> Schema:
        """Return this schema with `changes`, named like the constructor's parameters."""
        return Schema(**{**self._arguments(), **changes})

    def validate_value(self, value: Any, name: str | None = None) -> None:
        """Raise DataError unless `value` fits this schema. The message names the value by `name`.

        None fits only an optional schema; a default does not help (Java: `ConnectSchema.validateValue`).
        """
        kind: Any = value.__class__
        if kind is self._exact and (kind is not int or -self._limit <= value < self._limit):
            return
        _validate(self, value, "value" if name is None else f'field: "{name}"')

    def _arguments(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self) if f.init}

    def _hashed(self) -> tuple[Any, ...]:
        # Without the default, which may not be hashable, and the doc; equality compares both.
        parameters = frozenset(self.parameters.items()) if self.parameters is not None else None
        plain = (self.type, self.optional, self.name, self.version, parameters)
        return (*plain, self.fields, self.key_schema, self.value_schema)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Schema):
            return NotImplemented
        return (
            self._hash == other._hash
            and self._hashed() == other._hashed()
            and self.doc == other.doc
            and self.default == other.default
        )

    def __reduce__(self) -> tuple[Callable[..., Schema], tuple[Any, ...]]:
        # Rebuilt from its arguments: the cached hash of a string holds in one process only.
        arguments = self._arguments()
        if self.parameters is not None:
            arguments["parameters"] = dict(self.parameters)
        return Schema, tuple(arguments.values())

    def __str__(self) -> str:
        return f"Schema{{{self.name}:{self.type.name}}}" if self.name is not None else f"Schema{{{self.type.name}}}"

    def __repr__(self) -> str:
        shown = {k: v for k, v in self._arguments().items() if v not in (None, False, ())}
        return f"Schema({', '.join(f'{k}={v!r}' for k, v in shown.items())})"


def _validate(schema: Schema, value: Any, where: str) -> None:
    """Check a value completely, at the cost of speed; `where` names it in messages."""
    if value is None:
        if not schema.optional:
            raise DataError(f"Invalid value: null used for required {where}, schema type: {schema.type.name}")
        return
    if not _has_type(schema, value):
        named = f'"{schema.name}" ' if schema.name is not None else ""
        raise DataError(
            f"Invalid Python object for schema {named}with type {schema.type.name}: {type(value).__name__} for {where}"
        )
    if schema.name in _LOGICAL_PYTHON_TYPES:
        return
    if schema.type in INTEGER_BITS and not -schema._limit <= value < schema._limit:
        raise DataError(f"Invalid value: {value} is out of range of {schema.type.name} for {where}")
    if schema.type is Type.STRUCT:
        if value.schema != schema:
            raise DataError(f"Struct schemas do not match for {where}: {value.schema!r} is not {schema!r}")
        value.validate()
    if schema.type is Type.ARRAY and schema.value_schema is not None:
        for element in value:
            _validate(schema.value_schema, element, f"element of array {where}")
    if schema.type is Type.MAP:
        for key, item in value.items():
            if schema.key_schema is not None:
                _validate(schema.key_schema, key, f"key of map {where}")
            if schema.value_schema is not None:
                _validate(schema.value_schema, item, f"value of map {where}")


def _has_type(schema: Schema, value: Any) -> bool:
    logical = _LOGICAL_PYTHON_TYPES.get(schema.name) if schema.name is not None else None
    if logical is not None:
        # A datetime is a date to Python, but not to Connect.
        return isinstance(value, logical) and not (schema.name == DATE and isinstance(value, datetime.datetime))
    if schema.type is Type.STRUCT:
        return isinstance(value, Struct)
    if isinstance(value, bool):
        return schema.type is Type.BOOLEAN
    return isinstance(value, _PYTHON_TYPES[schema.type])


_new: Final = object.__new__


class Struct:
    """The values of a struct schema's fields, each checked when it is put (Java: `Struct`).

    A field that was never put reads as its default, else None; `validate` finds missing required fields. Lists and maps
    must not be changed after they were put.
    """

    __slots__ = ("_schema", "_values")

    def __init__(self, schema: Schema, values: Mapping[str, Any] | None = None) -> None:
        if schema.type is not Type.STRUCT:
            raise DataError(f"Not a struct schema: {schema!r}")
        self._schema = schema
        self._values: list[Any] = [None] * len(schema.fields)
        if values:
            for name, value in values.items():
                self.put(name, value)

    @classmethod
    def of_valid(cls, schema: Schema, values: list[Any]) -> Struct:
        """Return a struct of values in the order of the fields, known to fit: they are not checked or copied."""
        struct = _new(cls)
        struct._schema = schema
        struct._values = values
        return struct

    @property
    def schema(self) -> Schema:
        """The struct's schema."""
        return self._schema

    @property
    def field_values(self) -> Sequence[Any]:
        """The stored values in the order of the fields, without defaults. Not a copy: do not change it."""
        return self._values

    def put(self, name: str, value: Any) -> Struct:
        """Set a field and return this struct. Raise DataError if there is no such field or the value does not fit."""
        target = self._field(name)
        target.schema.validate_value(value, name)
        self._values[target.index] = value
        return self

    def get(self, name: str) -> Any:
        """Return the value of a field; its default if that is None. Raise DataError if there is no such field."""
        target = self._field(name)
        value = self._values[target.index]
        return target.schema.default if value is None else value

    def get_without_default(self, name: str) -> Any:
        """Return the stored value of a field, or None. Raise DataError if there is no such field."""
        return self._values[self._field(name).index]

    def validate(self) -> None:
        """Raise DataError unless the values of all fields fit; a default replaces an absent value."""
        for target, value in zip(self._schema.fields, self._values, strict=True):
            if value is None and target.schema.default is not None:
                continue
            target.schema.validate_value(value, target.name)

    def as_dict(self) -> dict[str, Any]:
        """Return the values by field name, with defaults; inner structs stay structs."""
        return dict(self)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for target, value in zip(self._schema.fields, self._values, strict=True):
            yield target.name, target.schema.default if value is None else value

    __getitem__ = get

    def __setitem__(self, name: str, value: Any) -> None:
        self.put(name, value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Struct):
            return NotImplemented
        return self._values == other._values and self._schema == other._schema

    def __hash__(self) -> int:
        """Return a hash by value. Do not change a struct that is a key. TypeError if a value is not hashable."""
        return hash((self._schema, *self._values))

    def __repr__(self) -> str:
        return f"Struct({', '.join(f'{name}={value!r}' for name, value in self)})"

    def _field(self, name: str) -> Field:
        try:
            return self._schema._index[name]
        except KeyError:
            known = ", ".join(self._schema._index)
            raise DataError(f"{name} is not a valid field name; the struct's fields are: {known}") from None


def _define_constants() -> None:
    arguments: dict[str, dict[str, Any]] = {kind.name: {"type": kind} for kind in Type if kind.is_primitive}
    arguments["DATE"] = {"type": Type.INT32, "name": DATE, "version": 1}
    arguments["TIME"] = {"type": Type.INT32, "name": TIME, "version": 1}
    arguments["TIMESTAMP"] = {"type": Type.INT64, "name": TIMESTAMP, "version": 1}
    for name, given in arguments.items():
        setattr(Schema, name, Schema(**given))
        setattr(Schema, f"OPTIONAL_{name}", Schema(**given, optional=True))


_define_constants()
