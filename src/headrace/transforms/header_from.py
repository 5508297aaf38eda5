# SPDX-License-Identifier: Apache-2.0
"""Move or copy fields into headers (KIP-145; Java: `org.apache.kafka.connect.transforms.HeaderFrom`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.errors import ConfigError, DataError
from headrace.api.schema import Field, Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.api.transform import R, RecordPart, Transformation
from headrace.api.validators import LambdaValidator, ValidString
from headrace.transforms._common import (
    REPLACE_NULL_WITH_DEFAULT,
    SchemaCache,
    copy_basics,
    define_replace_null_with_default,
    fill_absent,
    require_map,
    require_struct,
)

FIELDS: Final = "fields"
HEADERS: Final = "headers"
OPERATION: Final = "operation"
MOVE: Final = "move"
COPY: Final = "copy"

_Added = list[tuple[str, Any, Schema | None]]


@dataclass(frozen=True, slots=True)
class _Plan:
    """The headers of structs of one schema with the fields they take, and the schema that is left after a move."""

    taken: Sequence[tuple[str, Field]]
    schema: Schema
    kept: Sequence[int]


class HeaderFrom(Transformation[R]):
    """A transformation that appends a header for each of the fields, with the field's schema.

    A field that a map does not have becomes a header of null. Raises DataError for a field that a schema does not have,
    and for data that is no map or struct, tombstones included: use a predicate to skip those.
    """

    columnwise: ClassVar[bool] = True
    part: ClassVar[RecordPart]

    def version(self) -> str:
        return KAFKA_VERSION

    def config(self) -> ConfigDef:
        return _CONFIG

    def configure(self, configs: Mapping[str, Any]) -> None:
        config = _CONFIG.parse(configs)
        names, headers = config[FIELDS], config[HEADERS]
        if len(names) != len(headers):
            raise ConfigError(
                f"'{FIELDS}' config must have the same number of elements as '{HEADERS}' config, "
                f"but they have {len(names)} and {len(headers)}",
                HEADERS,
                headers,
            )
        self._pairs = list(zip(names, headers, strict=True))
        self._moves = config[OPERATION] == MOVE
        self._purpose = f"header {config[OPERATION]}"
        self._with_defaults = config[REPLACE_NULL_WITH_DEFAULT]
        self._plans = SchemaCache(self._plan)

    def apply(self, record: R) -> R | None:
        if self.part is RecordPart.VALUE:
            schema, value, added = self._split(record.value_schema, record.value)
            changed = record.with_value(schema, value)
        else:
            schema, value, added = self._split(record.key_schema, record.key)
            changed = record.with_key(schema, value)
        headers = changed.headers
        for name, taken, taken_schema in added:
            headers.add(name, taken, taken_schema)
        return changed

    def _split(self, schema: Schema | None, value: Any) -> tuple[Schema | None, Any, _Added]:
        """Return the remaining data, and the headers to add: name, value, schema."""
        if schema is not None:
            return self._split_struct(schema, require_struct(value, self._purpose))
        left = dict(require_map(value, self._purpose))
        added: _Added = [(header, left.get(name), None) for name, header in self._pairs]
        if self._moves:
            for name, _ in self._pairs:
                left.pop(name, None)
        return None, left, added

    def _split_struct(self, schema: Schema, struct: Struct) -> tuple[Schema, Struct, _Added]:
        plan = self._plans[schema]
        read = struct.get if self._with_defaults else struct.get_without_default
        added: _Added = [(header, read(field.name), field.schema) for header, field in plan.taken]
        if not self._moves:
            return schema, struct, added
        values = [struct.field_values[index] for index in plan.kept]
        if None in values:
            fill_absent(plan.schema, values, self._with_defaults)
        return plan.schema, Struct.of_valid(plan.schema, values), added

    def _plan(self, schema: Schema) -> _Plan:
        taken = []
        for name, header in self._pairs:
            field = schema.field(name)
            if field is None:
                known = ", ".join(each.name for each in schema.fields)
                raise DataError(f"There is no field {name} for the header {header}; the struct's fields are: {known}")
            taken.append((header, field))
        moved = {name for name, _ in self._pairs}
        kept = [field for field in schema.fields if field.name not in moved]
        builder = copy_basics(schema, SchemaBuilder.struct())
        for field in kept:
            builder.field(field.name, field.schema)
        return _Plan(taken, builder.build(), [field.index for field in kept])


class HeaderFromKey(HeaderFrom[R]):
    """HeaderFrom for the key of records."""

    part: ClassVar[RecordPart] = RecordPart.KEY


class HeaderFromValue(HeaderFrom[R]):
    """HeaderFrom for the value of records."""

    part: ClassVar[RecordPart] = RecordPart.VALUE


def _check_not_empty(name: str, value: Any) -> None:
    if not value:
        raise ConfigError.invalid(name, value, "Empty list")


# Not ValidList: a name may occur twice.
_NOT_EMPTY: Final = LambdaValidator(_check_not_empty, lambda: "non-empty list")
_CONFIG: Final = define_replace_null_with_default(
    ConfigDef()
    .define(
        FIELDS,
        Type.LIST,
        importance=Importance.HIGH,
        validator=_NOT_EMPTY,
        doc="The fields whose values become headers.",
    )
    .define(
        HEADERS,
        Type.LIST,
        importance=Importance.HIGH,
        validator=_NOT_EMPTY,
        doc="The names of the headers, in the order of the fields.",
    )
    .define(
        OPERATION,
        Type.STRING,
        importance=Importance.HIGH,
        validator=ValidString(MOVE, COPY),
        doc="move takes the fields out of the data, copy leaves them there.",
    )
)
