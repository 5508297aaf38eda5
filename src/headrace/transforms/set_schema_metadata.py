# SPDX-License-Identifier: Apache-2.0
"""Name a schema (Java: `org.apache.kafka.connect.transforms.SetSchemaMetadata`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef, Importance
from headrace.api.config_def import Type as ConfigType
from headrace.api.errors import ConfigError, DataError
from headrace.api.schema import Schema, Struct, Type
from headrace.api.transform import PartTransformation, R, RecordPart
from headrace.transforms._common import (
    REPLACE_NULL_WITH_DEFAULT,
    SchemaCache,
    define_replace_null_with_default,
    fill_absent,
    require_schema,
)

SCHEMA_NAME: Final = "schema.name"
SCHEMA_VERSION: Final = "schema.version"
_PURPOSE: Final = "updating schema metadata"


class SetSchemaMetadata(PartTransformation[R]):
    """A transformation that sets the name, version or both of a struct's schema.

    No schema is valid if the value is null too; other data without a schema, and as in Java schemas of other types than
    structs, raise DataError.
    """

    columnwise: ClassVar[bool] = True

    def version(self) -> str:
        return KAFKA_VERSION

    def config(self) -> ConfigDef:
        return _CONFIG

    def configure(self, configs: Mapping[str, Any]) -> None:
        config = _CONFIG.parse(configs)
        changes = {"name": config[SCHEMA_NAME], "version": config[SCHEMA_VERSION]}
        self._changes = {attribute: value for attribute, value in changes.items() if value is not None}
        if not self._changes:
            raise ConfigError(f"Neither {SCHEMA_NAME} nor {SCHEMA_VERSION} is configured; give one of them")
        self._with_defaults = config[REPLACE_NULL_WITH_DEFAULT]
        self._schemas = SchemaCache(self._changed)

    def apply_to(self, record: R, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        if value is None and schema is None:
            return None, None
        changed = self._schemas[require_schema(schema, _PURPOSE)]
        if not isinstance(value, Struct):
            return changed, value
        values = list(value.field_values)
        if None in values:
            fill_absent(changed, values, self._with_defaults)
        return changed, Struct.of_valid(changed, values)

    def _changed(self, schema: Schema) -> Schema:
        if schema.type is not Type.STRUCT:
            raise DataError(f"Only schemas of structs can be given a name or version, not one of {schema.type.value}")
        return schema.replace(**self._changes)


class SetSchemaMetadataKey(SetSchemaMetadata[R]):
    """SetSchemaMetadata for the key of records."""

    part: ClassVar[RecordPart] = RecordPart.KEY


class SetSchemaMetadataValue(SetSchemaMetadata[R]):
    """SetSchemaMetadata for the value of records."""

    part: ClassVar[RecordPart] = RecordPart.VALUE


_CONFIG: Final = define_replace_null_with_default(
    ConfigDef()
    .define(SCHEMA_NAME, ConfigType.STRING, None, importance=Importance.HIGH, doc="The name to give to the schema.")
    .define(SCHEMA_VERSION, ConfigType.INT, None, importance=Importance.HIGH, doc="The version to give to the schema.")
)
