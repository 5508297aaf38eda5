# SPDX-License-Identifier: Apache-2.0
"""Replace data by one of its fields (Java: `org.apache.kafka.connect.transforms.ExtractField`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef, Type
from headrace.api.errors import DataError
from headrace.api.schema import Schema, Struct
from headrace.api.transform import PartTransformation, R, RecordPart
from headrace.transforms._common import (
    REPLACE_NULL_WITH_DEFAULT,
    SchemaCache,
    define_replace_null_with_default,
    require_map,
    require_struct,
)
from headrace.transforms._paths import FIELD_SYNTAX_VERSION, FieldPath, define_field_syntax_version

FIELD: Final = "field"
_PURPOSE: Final = "field extraction"


@dataclass(frozen=True, slots=True)
class _Plan:
    """The path through structs of one schema: at each step the position and the default of null."""

    schema: Schema
    steps: Sequence[tuple[int, Any]]


class ExtractField(PartTransformation[R]):
    """A transformation that extracts a field of a struct or map; null stays null.

    A map without the field gives null. Raises DataError if a schema has no such field, or the data is no map or struct.
    """

    columnwise: ClassVar[bool] = True

    def version(self) -> str:
        return KAFKA_VERSION

    def config(self) -> ConfigDef:
        return _CONFIG

    def configure(self, configs: Mapping[str, Any]) -> None:
        config = _CONFIG.parse(configs)
        self._field = config[FIELD]
        self._path = FieldPath(self._field, config[FIELD_SYNTAX_VERSION])
        self._with_default = config[REPLACE_NULL_WITH_DEFAULT]
        self._plans = SchemaCache(self._plan)

    def apply_to(self, record: R, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        if schema is None:
            return None, None if value is None else self._path.value_in(require_map(value, _PURPOSE))
        struct = None if value is None else require_struct(value, _PURPOSE)
        plan = self._plans[schema]
        return plan.schema, None if struct is None else _extracted(plan, struct)

    def _plan(self, schema: Schema) -> _Plan:
        fields = self._path.fields_in(schema)
        if fields is None:
            known = ", ".join(field.name for field in schema.fields)
            raise DataError(f"Unknown field: {self._field}; the fields of {schema} are: {known}")
        steps = [(field.index, field.schema.default) for field in fields]
        if not self._with_default:
            steps[-1] = (steps[-1][0], None)
        return _Plan(fields[-1].schema, steps)


class ExtractFieldKey(ExtractField[R]):
    """ExtractField for the key of records."""

    part: ClassVar[RecordPart] = RecordPart.KEY


class ExtractFieldValue(ExtractField[R]):
    """ExtractField for the value of records."""

    part: ClassVar[RecordPart] = RecordPart.VALUE


def _extracted(plan: _Plan, struct: Struct) -> Any:
    found: Any = struct
    for index, default in plan.steps:
        found = found.field_values[index]
        if found is None:
            found = default
            if found is None:
                return None
    return found


_CONFIG: Final = define_replace_null_with_default(
    define_field_syntax_version(ConfigDef().define(FIELD, Type.STRING, doc="The field to extract, or the path to it."))
)
