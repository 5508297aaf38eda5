# SPDX-License-Identifier: Apache-2.0
"""Flatten nested data (Java: `org.apache.kafka.connect.transforms.Flatten`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef
from headrace.api.config_def import Type as ConfigType
from headrace.api.errors import DataError
from headrace.api.schema import Field, Schema, Struct, Type
from headrace.api.schema_builder import SchemaBuilder
from headrace.api.transform import PartTransformation, R, RecordPart
from headrace.transforms._common import SchemaCache, copy_basics, require_map, require_struct, type_name

DELIMITER: Final = "delimiter"
_PURPOSE: Final = "flattening"
_LONG_LIMIT: Final = 1 << 63
_LEAVES: Final = (str, int, float, bytes, list, tuple, bytearray, memoryview)
# The exact types of nearly all values; an int must also be in range.
_PLAIN_LEAVES: Final = frozenset({str, float, bool, bytes, list, tuple, type(None)})


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A field that stays; `default` replaces null, which a `required` field must not be."""

    name: str
    default: Any
    required: bool


@dataclass(frozen=True, slots=True)
class _Run:
    """Consecutive fields that stay, from the position `start`."""

    start: int
    leaves: list[_Leaf]


@dataclass(frozen=True, slots=True)
class _Branch:
    """A struct at the position `start` whose fields move up, to `width` fields in the result."""

    start: int
    parts: Sequence[_Run | _Branch]
    width: int


@dataclass(frozen=True, slots=True)
class _Plan:
    schema: Schema
    root: _Branch


class Flatten(PartTransformation[R]):
    """A transformation that joins the names on the path to each field. Null stays null; arrays are unchanged.

    Raises DataError for maps inside structs, and for two fields of the same joined name.
    """

    columnwise: ClassVar[bool] = True

    def version(self) -> str:
        return KAFKA_VERSION

    def config(self) -> ConfigDef:
        return _CONFIG

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._delimiter: str = _CONFIG.parse(configs)[DELIMITER]
        self._plans = SchemaCache(self._plan)

    def apply_to(self, record: R, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        if value is None:
            return schema, None
        if schema is None:
            flat: dict[str, Any] = {}
            self._flatten_map(require_map(value, _PURPOSE), "", flat)
            return None, flat
        struct = require_struct(value, _PURPOSE)
        plan = self._plans[schema]
        values: list[Any] = []
        _flatten_struct(plan.root, struct, values)
        return plan.schema, Struct.of_valid(plan.schema, values)

    def _flatten_map(self, value: Mapping[str, Any], prefix: str, flat: dict[str, Any]) -> None:
        for key, entry in value.items():
            try:
                name = prefix + key
            except TypeError as error:
                raise DataError(f"The key {key!r} of a map is no string: {type_name(key)}") from error
            kind = entry.__class__
            if kind in _PLAIN_LEAVES or (kind is int and -_LONG_LIMIT <= entry < _LONG_LIMIT):
                flat[name] = entry
            elif kind is dict or isinstance(entry, Mapping):
                self._flatten_map(entry, self._prefix(name), flat)
            else:
                _check_leaf(name, entry)
                flat[name] = entry

    def _prefix(self, name: str) -> str:
        """Return the prefix of the names inside `name`; empty for an empty name."""
        return name + self._delimiter if name else ""

    def _plan(self, schema: Schema) -> _Plan:
        builder = copy_basics(schema, SchemaBuilder.struct())
        root = self._branch(Field("", 0, schema), "", schema.optional, schema.default, builder)
        return _Plan(builder.build(), root)

    def _branch(
        self, struct: Field, prefix: str, optional: bool, default: Struct | None, builder: SchemaBuilder
    ) -> _Branch:
        """Add the leaves of a struct field to `builder`.

        `optional`: it or a struct on the path to it may be null, and `default` replaces it.
        """
        parts: list[_Run | _Branch] = []
        for field in struct.schema.fields:
            part = self._part(field, prefix, optional, default, builder)
            last = parts[-1] if parts else None
            if isinstance(part, _Run) and isinstance(last, _Run):
                last.leaves.extend(part.leaves)
            else:
                parts.append(part)
        width = sum(part.width if isinstance(part, _Branch) else len(part.leaves) for part in parts)
        return _Branch(struct.index, parts, width)

    def _part(
        self, field: Field, prefix: str, optional: bool, parent_default: Struct | None, builder: SchemaBuilder
    ) -> _Run | _Branch:
        name, schema = prefix + field.name, field.schema
        optional = optional or schema.optional
        default = schema.default
        if default is None and parent_default is not None:
            default = parent_default.get(field.name)
        if schema.type is Type.STRUCT:
            return self._branch(field, self._prefix(name), optional, default, builder)
        if schema.type is Type.MAP:
            raise DataError(f"The field {name} is a map; with a schema only structs can be flattened")
        builder.field(name, schema.replace(optional=optional, default=default))
        return _Run(field.index, [_Leaf(name, schema.default, not optional)])


class FlattenKey(Flatten[R]):
    """Flatten for the key of records."""

    part: ClassVar[RecordPart] = RecordPart.KEY


class FlattenValue(Flatten[R]):
    """Flatten for the value of records."""

    part: ClassVar[RecordPart] = RecordPart.VALUE


def _flatten_struct(branch: _Branch, struct: Struct, flat: list[Any]) -> None:
    values = struct.field_values
    for part in branch.parts:
        if isinstance(part, _Run):
            run = values[part.start : part.start + len(part.leaves)]
            flat.extend(map(_present, part.leaves, run) if None in run else run)
        elif (inner := values[part.start]) is None:
            flat.extend([None] * part.width)
        else:
            _flatten_struct(part, inner, flat)


def _present(leaf: _Leaf, value: Any) -> Any:
    if value is None and leaf.default is None and leaf.required:
        raise DataError(f"The field {leaf.name} is required, but has no value")
    return leaf.default if value is None else value


def _check_leaf(name: str, value: Any) -> None:
    if not isinstance(value, _LEAVES) or (isinstance(value, int) and not -_LONG_LIMIT <= value < _LONG_LIMIT):
        raise DataError(
            f"The field {name} holds a value of type {type_name(value)}"
            + (" beyond 64 bits" if isinstance(value, int) else "")
            + ", which cannot be flattened without a schema"
        )


_CONFIG: Final = ConfigDef().define(
    DELIMITER, ConfigType.STRING, ".", doc="The separator between the names of nested fields in the name of a flat one."
)
