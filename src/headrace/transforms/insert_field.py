# SPDX-License-Identifier: Apache-2.0
"""Insert fields of a record's metadata, or a fixed value (Java: `org.apache.kafka.connect.transforms.InsertField`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, ClassVar, Final

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef, Type
from headrace.api.errors import ConfigError, DataError
from headrace.api.logical import to_logical
from headrace.api.record import ConnectRecord, SinkRecord
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.api.transform import PartTransformation, R, RecordPart
from headrace.transforms._common import (
    REPLACE_NULL_WITH_DEFAULT,
    SchemaCache,
    copy_basics,
    define_replace_null_with_default,
    fill_absent,
    require_map,
    require_struct,
    type_name,
)

TOPIC_FIELD: Final = "topic.field"
PARTITION_FIELD: Final = "partition.field"
OFFSET_FIELD: Final = "offset.field"
TIMESTAMP_FIELD: Final = "timestamp.field"
STATIC_FIELD: Final = "static.field"
STATIC_VALUE: Final = "static.value"
_PURPOSE: Final = "field insertion"

Getter = Callable[[ConnectRecord], Any]


@dataclass(frozen=True, slots=True)
class _Insertion:
    """A field to insert, by `get` into maps and by `get_stored` into structs. `keep_null`: maps get a null too."""

    name: str
    schema: Schema
    get: Getter
    get_stored: Getter
    keep_null: bool = False


class InsertField(PartTransformation[R]):
    """A transformation that inserts fields into structs and maps; null stays null.

    A required field stays unset for a record without a partition or timestamp, as in Java, and the converter raises the
    error. Raises DataError for a struct that already has such a field; in a map the old value is replaced.
    """

    columnwise: ClassVar[bool] = True

    def version(self) -> str:
        return KAFKA_VERSION

    def config(self) -> ConfigDef:
        return _CONFIG

    def configure(self, configs: Mapping[str, Any]) -> None:
        config = _CONFIG.parse(configs)
        self._insertions = _insertions(config)
        self._in_maps = [(each.name, each.get, each.keep_null) for each in self._insertions]
        self._in_structs = [each.get_stored for each in self._insertions]
        self._with_defaults = config[REPLACE_NULL_WITH_DEFAULT]
        self._schemas = SchemaCache(self._extended)

    def apply_to(self, record: R, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        if value is None:
            return schema, None
        if schema is None:
            changed = value.copy() if value.__class__ is dict else dict(require_map(value, _PURPOSE))
            for name, get, keep_null in self._in_maps:
                inserted = get(record)
                if inserted is not None or keep_null:
                    changed[name] = inserted
            return None, changed
        struct = require_struct(value, _PURPOSE)
        extended = self._schemas[struct.schema]
        values = list(struct.field_values)
        if None in values:
            fill_absent(struct.schema, values, self._with_defaults)
        for get in self._in_structs:
            values.append(get(record))
        return extended, Struct.of_valid(extended, values)

    def _extended(self, schema: Schema) -> Schema:
        builder = copy_basics(schema, SchemaBuilder.struct())
        for field in schema.fields:
            builder.field(field.name, field.schema)
        for each in self._insertions:
            builder.field(each.name, each.schema)
        return builder.build()


class InsertFieldKey(InsertField[R]):
    """InsertField for the key of records."""

    part: ClassVar[RecordPart] = RecordPart.KEY


class InsertFieldValue(InsertField[R]):
    """InsertField for the value of records."""

    part: ClassVar[RecordPart] = RecordPart.VALUE


def _insertions(config: Mapping[str, Any]) -> list[_Insertion]:
    """Return the fields to insert, in Java's order."""
    makers: Mapping[str, Callable[[str, bool], _Insertion]] = {
        TOPIC_FIELD: _topic,
        PARTITION_FIELD: _partition,
        OFFSET_FIELD: _offset,
        TIMESTAMP_FIELD: _timestamp,
        STATIC_FIELD: partial(_static, config[STATIC_VALUE]),
    }
    given = {property: config[property] for property in makers if config[property] is not None}
    if not given:
        raise ConfigError(f"No field insertion configured; give at least one of {', '.join(makers)}")
    if STATIC_FIELD in given and config[STATIC_VALUE] is None:
        raise ConfigError.invalid(STATIC_VALUE, None, f"No value for the static field {given[STATIC_FIELD]}")
    return [
        makers[property](text[:-1] if text.endswith(("?", "!")) else text, not text.endswith("!"))
        for property, text in given.items()
    ]


def _topic(name: str, optional: bool) -> _Insertion:
    get = attrgetter("topic")

    def required(record: ConnectRecord) -> str:
        if record.topic is None:
            raise DataError(f"Field {name} of type string is required, but the record has no topic")
        return record.topic

    schema = Schema.OPTIONAL_STRING if optional else Schema.STRING
    return _Insertion(name, schema, get, get if optional else required, keep_null=True)


def _partition(name: str, optional: bool) -> _Insertion:
    get = attrgetter("kafka_partition")
    return _Insertion(name, Schema.OPTIONAL_INT32 if optional else Schema.INT32, get, get)


def _offset(name: str, optional: bool) -> _Insertion:
    return _Insertion(name, Schema.OPTIONAL_INT64 if optional else Schema.INT64, _offset_of, _offset_of)


def _timestamp(name: str, optional: bool) -> _Insertion:
    schema = Schema.OPTIONAL_TIMESTAMP if optional else Schema.TIMESTAMP
    return _Insertion(name, schema, attrgetter("timestamp"), _logical_timestamp)


def _static(value: str, name: str, optional: bool) -> _Insertion:
    def get(record: ConnectRecord) -> str:
        return value

    return _Insertion(name, Schema.OPTIONAL_STRING if optional else Schema.STRING, get, get)


def _offset_of(record: ConnectRecord) -> int:
    if isinstance(record, SinkRecord):
        return record.kafka_offset
    raise DataError(f"Only the records of a sink have an offset for {OFFSET_FIELD}, not a {type_name(record)}")


def _logical_timestamp(record: ConnectRecord) -> Any:
    timestamp = record.timestamp
    return None if timestamp is None else to_logical(Schema.TIMESTAMP, timestamp)


def _config() -> ConfigDef:
    definition = ConfigDef()
    suffix = " Suffix ! makes it a required field, ? (or none) an optional one."
    for name, doc in (
        (TOPIC_FIELD, "Field for the topic." + suffix),
        (PARTITION_FIELD, "Field for the partition." + suffix),
        (OFFSET_FIELD, "Field for the offset; for sinks only." + suffix),
        (TIMESTAMP_FIELD, "Field for the record's timestamp." + suffix),
        (STATIC_FIELD, "Field for a fixed value." + suffix),
        (STATIC_VALUE, f"The fixed value, a text, for {STATIC_FIELD}."),
    ):
        definition.define(name, Type.STRING, None, doc=doc)
    return define_replace_null_with_default(definition)


_CONFIG: Final = _config()
