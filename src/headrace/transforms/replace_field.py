# SPDX-License-Identifier: Apache-2.0
"""Drop and rename fields (Java: `org.apache.kafka.connect.transforms.ReplaceField`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef, Type
from headrace.api.errors import ConfigError, DataError
from headrace.api.schema import Field, Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.api.transform import PartTransformation, R, RecordPart
from headrace.api.validators import LambdaValidator, ValidList
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

EXCLUDE: Final = "exclude"
INCLUDE: Final = "include"
RENAMES: Final = "renames"
_PURPOSE: Final = "field replacement"


@dataclass(frozen=True, slots=True)
class _Plan:
    """The resulting schema, and for each of its fields the position in the original one."""

    schema: Schema
    sources: Sequence[int]


class ReplaceField(PartTransformation[R]):
    """A transformation that keeps the included fields, drops the excluded ones, and renames. Null stays null.

    Raises DataError if two fields of a schema get the same name; in a map the later one stays.
    """

    columnwise: ClassVar[bool] = True

    def version(self) -> str:
        return KAFKA_VERSION

    def config(self) -> ConfigDef:
        return _CONFIG

    def configure(self, configs: Mapping[str, Any]) -> None:
        config = _CONFIG.parse(configs)
        self._exclude = frozenset(config[EXCLUDE])
        self._include = frozenset(config[INCLUDE]) - self._exclude if config[INCLUDE] else None
        self._renames = _renames(config[RENAMES])
        self._with_defaults = config[REPLACE_NULL_WITH_DEFAULT]
        self._plans = SchemaCache(self._plan)

    def apply_to(self, record: R, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        if value is None:
            return schema, None
        if schema is None:
            return None, self._schemaless(require_map(value, _PURPOSE))
        struct = require_struct(value, _PURPOSE)
        plan = self._plans[struct.schema]
        given = struct.field_values
        values = [given[index] for index in plan.sources]
        if None in values:
            fill_absent(plan.schema, values, self._with_defaults)
        return plan.schema, Struct.of_valid(plan.schema, values)

    def _schemaless(self, value: Mapping[str, Any]) -> dict[str, Any]:
        include, renames = self._include, self._renames
        if include is None:
            kept = dict(value)
            for name in self._exclude:
                kept.pop(name, None)
        else:
            kept = {name: entry for name, entry in value.items() if name in include}
        return {renames.get(name, name): entry for name, entry in kept.items()} if renames else kept

    def _keeps(self, name: str) -> bool:
        return name not in self._exclude if self._include is None else name in self._include

    def _plan(self, schema: Schema) -> _Plan:
        builder = copy_basics(schema, SchemaBuilder.struct())
        kept = [field for field in schema.fields if self._keeps(field.name)]
        for field in kept:
            builder.field(self._renames.get(field.name, field.name), field.schema)
        replaced = builder.build()
        return _Plan(replaced, [self._source(schema, field) for field in replaced.fields])

    def _source(self, schema: Schema, target: Field) -> int:
        """Return the original position of a field: as in Java by the inverse of `renames`, even if that is not used."""
        old_names = {new: old for old, new in self._renames.items()}
        source = schema.field(old_names.get(target.name, target.name))
        if source is None or source.schema != target.schema:
            raise DataError(
                f"The field {target.name} of {schema} has a name that {RENAMES} gives to {old_names[target.name]};"
                " exclude or rename it"
            )
        return source.index


class ReplaceFieldKey(ReplaceField[R]):
    """ReplaceField for the key of records."""

    part: ClassVar[RecordPart] = RecordPart.KEY


class ReplaceFieldValue(ReplaceField[R]):
    """ReplaceField for the value of records."""

    part: ClassVar[RecordPart] = RecordPart.VALUE


def _renames(mappings: Sequence[str]) -> dict[str, str]:
    renames = {}
    for mapping in mappings:
        parts = split_pair(mapping)
        if len(parts) != 2:
            raise ConfigError.invalid(RENAMES, mapping, "Expected old:new")
        renames[parts[0]] = parts[1]
    return renames


def _check_renames(name: str, value: Any) -> None:
    _renames(value or ())


_CONFIG: Final = define_replace_null_with_default(
    ConfigDef()
    .define(
        EXCLUDE,
        Type.LIST,
        [],
        validator=ValidList(),
        doc="Fields to drop, even if they are among the fields to keep.",
    )
    .define(INCLUDE, Type.LIST, [], validator=ValidList(), doc="Fields to keep; if set, all others are dropped.")
    .define(
        RENAMES,
        Type.LIST,
        [],
        validator=LambdaValidator(_check_renames, lambda: "list of colon-delimited pairs, e.g. foo:bar,abc:xyz"),
        doc="New names of fields: old1:new1,old2:new2.",
    )
)
