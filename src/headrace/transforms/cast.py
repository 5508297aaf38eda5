# SPDX-License-Identifier: Apache-2.0
"""Cast fields, or a whole key or value, to another type (Java: `org.apache.kafka.connect.transforms.Cast`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef, Importance
from headrace.api.config_def import Type as ConfigType
from headrace.api.data_column import DataColumn
from headrace.api.errors import ConfigError, DataError
from headrace.api.logical import is_logical
from headrace.api.schema import Schema, Struct, Type
from headrace.api.schema_builder import SchemaBuilder
from headrace.api.transform import PartTransformation, R, RecordPart
from headrace.api.validators import LambdaValidator
from headrace.transforms._casts import TARGETS, Casts, casts_to
from headrace.transforms._common import (
    REPLACE_NULL_WITH_DEFAULT,
    SchemaCache,
    copy_basics,
    define_replace_null_with_default,
    fill_absent,
    require_map,
    require_struct,
)
from headrace.transforms._paths import split_pair

SPEC: Final = "spec"
_PURPOSE: Final = "cast types"


@dataclass(frozen=True, slots=True)
class _Plan:
    """The casts of data with one schema: `whole` for all of it, or one for each field by position."""

    schema: Schema
    whole: Casts | None
    fields: Sequence[tuple[int, Casts]] = ()


class Cast(PartTransformation[R]):
    """A cast to int8, int16, int32, int64, float32, float64, boolean or string. Null and absent data are unchanged.

    Integers wrap around and floats are cut off towards zero as in Java; bytes become text in base64. Raises DataError
    that names the field whose value cannot be cast.
    """

    columnwise: ClassVar[bool] = True

    def version(self) -> str:
        return KAFKA_VERSION

    def config(self) -> ConfigDef:
        return _CONFIG

    def configure(self, configs: Mapping[str, Any]) -> None:
        config = _CONFIG.parse(configs)
        self._targets = _targets(config[SPEC])
        self._with_defaults = config[REPLACE_NULL_WITH_DEFAULT]
        casts = [(name, casts_to(target, None)) for name, target in self._targets.items()]
        self._whole = casts[0][1] if None in self._targets else None
        self._fields = [(name, ways) for name, ways in casts if name is not None]
        self._plans = SchemaCache(self._plan)

    def apply_to(self, record: R, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        if value is None:
            return schema, None
        if schema is None:
            return None, self._schemaless(value) if self._whole is None else _cast_whole(self._whole, value)
        if self._whole is None:
            value = require_struct(value, _PURPOSE)
        plan = self._plans[schema]
        if plan.whole is not None and value.__class__ is DataColumn:
            return plan.schema, _cast_column(plan.whole, value, plan.schema)
        if plan.whole is not None:
            return plan.schema, _cast_whole(plan.whole, value)
        return plan.schema, self._struct(plan, value)

    def _schemaless(self, value: Any) -> dict[str, Any]:
        changed = dict(require_map(value, _PURPOSE))
        name = ""
        try:
            for name, casts in self._fields:
                given = changed.get(name)
                changed[name] = None if given is None else casts[given.__class__](given)
        except DataError as error:
            raise _of_field(name, error) from error
        return changed

    def _struct(self, plan: _Plan, struct: Struct) -> Struct:
        values = list(struct.field_values)
        if None in values:
            fill_absent(struct.schema, values, self._with_defaults)
        index = 0
        try:
            for index, casts in plan.fields:
                given = values[index]
                if given.__class__ is DataColumn:
                    values[index] = given.mapped(casts.cast, plan.schema.fields[index].schema)
                elif given is not None:
                    values[index] = casts[given.__class__](given)
        except DataError as error:
            raise _of_field(plan.schema.fields[index].name, error) from error
        return Struct.of_valid(plan.schema, values)

    def _plan(self, schema: Schema) -> _Plan:
        whole = self._targets.get(None)
        if whole is not None:
            casts = casts_to(whole, schema)
            return _Plan(_cast_schema(copy_basics(schema, SchemaBuilder(whole)), schema, casts), casts)
        fields = []
        builder = copy_basics(schema, SchemaBuilder.struct())
        for field in schema.fields:
            inner, target = field.schema, self._targets.get(field.name)
            if target is not None:
                casts = casts_to(target, inner)
                fields.append((field.index, casts))
                inner = _cast_schema(SchemaBuilder(target), inner, casts)  # without its name: no longer a logical type
            builder.field(field.name, inner)
        if schema.optional:
            builder.optional()
        return _Plan(builder.build(), None, fields)


class CastKey(Cast[R]):
    """Cast for the key of records."""

    part: ClassVar[RecordPart] = RecordPart.KEY


class CastValue(Cast[R]):
    """Cast for the value of records."""

    part: ClassVar[RecordPart] = RecordPart.VALUE


def _cast_schema(builder: SchemaBuilder, schema: Schema, casts: Casts) -> Schema:
    if schema.optional:
        builder.optional()
    if schema.default is not None:
        builder.default_value(_cast_whole(casts, schema.default))
    return builder.build()


def _cast_whole(casts: Casts, value: Any) -> Any:
    try:
        return casts[value.__class__](value)
    except DataError as error:
        raise DataError(f"Cannot cast: {error}") from error


def _cast_column(casts: Casts, column: DataColumn, schema: Schema) -> DataColumn:
    if is_logical(schema):
        # As in Java the data keeps its schema's name, which the values no longer fit: no column has such.
        raise DataError(f"Cannot cast a column to {schema}")
    return column.mapped(casts.cast, schema)


def _of_field(name: str, error: DataError) -> DataError:
    return DataError(f"Cannot cast the field {name}: {error}")


def _targets(spec: Sequence[str]) -> dict[str | None, Type]:
    """Return the type for each field; the name None means the whole data."""
    targets: dict[str | None, Type] = {}
    for entry in spec:
        parts = split_pair(entry)
        if not 1 <= len(parts) <= 2:
            raise ConfigError.invalid(SPEC, entry, "Expected field:type, or a type alone for the whole key or value")
        targets[parts[0].strip() if len(parts) == 2 else None] = _target(entry, parts[-1].strip())
    if None in targets and len(spec) > 1:
        raise ConfigError.invalid(SPEC, ",".join(spec), "A type for the whole key or value must be the only entry")
    return targets


def _target(entry: str, name: str) -> Type:
    target = Type.__members__.get(name.upper())
    if target is None or target not in TARGETS:
        known = ", ".join(kind.value for kind in TARGETS)
        raise ConfigError.invalid(SPEC, entry, f"Nothing can be cast to '{name}'; the types are {known}")
    return target


def _check_spec(name: str, value: Any) -> None:
    if not value:
        raise ConfigError.invalid(name, value, "At least one field to cast is needed")
    _targets(value)


_CONFIG: Final = define_replace_null_with_default(
    ConfigDef().define(
        SPEC,
        ConfigType.LIST,
        importance=Importance.HIGH,
        validator=LambdaValidator(_check_spec, lambda: "list of colon-delimited pairs, e.g. foo:bar,abc:xyz"),
        doc="What to cast to which type: field1:type,field2:type for fields of maps and structs, or a type alone for"
        f" the whole key or value. Types: {', '.join(kind.value for kind in TARGETS)}. Bytes can become string only.",
    )
)
