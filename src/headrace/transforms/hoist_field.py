# SPDX-License-Identifier: Apache-2.0
"""Wrap data into a field (Java: `org.apache.kafka.connect.transforms.HoistField`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef, Type
from headrace.api.data_column import DataColumn
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.api.transform import PartTransformation, R, RecordPart
from headrace.transforms._common import SchemaCache

FIELD: Final = "field"


class HoistField(PartTransformation[R]):
    """A transformation to a struct, or without a schema a map, whose only field is the data, also if that is null."""

    columnwise: ClassVar[bool] = True

    def version(self) -> str:
        return KAFKA_VERSION

    def config(self) -> ConfigDef:
        return _CONFIG

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._field = _CONFIG.parse(configs)[FIELD]
        self._schemas = SchemaCache(self._hoisted)

    def apply_to(self, record: R, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        if schema is None:
            return None, {self._field: value}
        hoisted = self._schemas[schema]
        if not (isinstance(value, (Struct, DataColumn)) and value.schema is schema):
            schema.validate_value(value, self._field)
        return hoisted, Struct.of_valid(hoisted, [value])

    def _hoisted(self, schema: Schema) -> Schema:
        return SchemaBuilder.struct().field(self._field, schema).build()


class HoistFieldKey(HoistField[R]):
    """HoistField for the key of records."""

    part: ClassVar[RecordPart] = RecordPart.KEY


class HoistFieldValue(HoistField[R]):
    """HoistField for the value of records."""

    part: ClassVar[RecordPart] = RecordPart.VALUE


_CONFIG: Final = ConfigDef().define(FIELD, Type.STRING, doc="The name of the one field of the new struct or map.")
