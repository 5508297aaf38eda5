# SPDX-License-Identifier: Apache-2.0
"""Convert between forms of timestamps (Java: `org.apache.kafka.connect.transforms.TimestampConverter`)."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef, Importance
from headrace.api.config_def import Type as ConfigType
from headrace.api.data_column import DataColumn
from headrace.api.errors import ConfigError, DataError
from headrace.api.logical import MILLIS_PER_DAY, from_logical, to_logical
from headrace.api.schema import DATE, TIME, TIMESTAMP, Schema, Struct, Type
from headrace.api.transform import PartTransformation, R, RecordPart
from headrace.api.validators import ValidString
from headrace.transforms._common import (
    REPLACE_NULL_WITH_DEFAULT,
    SchemaCache,
    define_replace_null_with_default,
    fill_absent,
    require_map,
    require_struct,
    type_name,
)
from headrace.transforms._java_date_format import JavaDateFormat

FIELD: Final = "field"
TARGET_TYPE: Final = "target.type"
FORMAT: Final = "format"
UNIX_PRECISION: Final = "unix.precision"

_STRING: Final = "string"
_UNIX: Final = "unix"
_LOGICAL: Final[Mapping[str, Schema]] = {"Date": Schema.DATE, "Time": Schema.TIME, "Timestamp": Schema.TIMESTAMP}
_SCHEMAS: Final[Mapping[str, Schema]] = {_STRING: Schema.STRING, _UNIX: Schema.INT64, **_LOGICAL}
_KINDS_BY_NAME: Final = {DATE: "Date", TIME: "Time", TIMESTAMP: "Timestamp"}
# (units of a ms, ms of a unit): one of the two is 1.
_PRECISIONS: Final = {
    "nanoseconds": (10**6, 1),
    "microseconds": (10**3, 1),
    "milliseconds": (1, 1),
    "seconds": (1, 1000),
}
_LONG_MAX: Final = (1 << 63) - 1
_PURPOSE: Final = "converting timestamp formats"

Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class _Plan:
    """The conversion of data of one schema: the position of the field, None for the whole data or for no field."""

    schema: Schema
    convert: Convert
    index: int | None = None


class TimestampConverter(PartTransformation[R]):
    """A transformation of a field, or of the whole data, between text, Unix time, Date, Time and Timestamp.

    Null stays null. Without a schema the form is inferred from the value: text, an integer (Unix time), or a date or
    time. Raises DataError for other values, for text that does not match `format`, and for a Date or Timestamp beyond
    the years 1 to 9999.
    """

    columnwise: ClassVar[bool] = True

    def version(self) -> str:
        return KAFKA_VERSION

    def config(self) -> ConfigDef:
        return _CONFIG

    def configure(self, configs: Mapping[str, Any]) -> None:
        config = _CONFIG.parse(configs)
        self._field: str = config[FIELD] or ""
        self._target: str = config[TARGET_TYPE]
        self._moments = _Moments(_format_of(self._target, config[FORMAT] or ""), *_PRECISIONS[config[UNIX_PRECISION]])
        self._write = self._moments.writer(self._target)
        self._write_schemaless = self._moments.schemaless_writer(self._target)
        self._with_defaults = config[REPLACE_NULL_WITH_DEFAULT]
        self._plans = SchemaCache(self._plan)

    def apply_to(self, record: R, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        if schema is None:
            return None, None if value is None else self._schemaless(value)
        plan = self._plans[schema]
        if not self._field:
            return plan.schema, _converted(plan.convert, plan.schema, value)
        return plan.schema, None if value is None else self._struct(plan, require_struct(value, _PURPOSE))

    def _schemaless(self, value: Any) -> Any:
        if not self._field:
            return self._inferred(value)
        changed = dict(require_map(value, _PURPOSE))
        try:
            changed[self._field] = self._inferred(changed.get(self._field))
        except DataError as error:
            raise self._of_field(error) from error
        return changed

    def _inferred(self, value: Any) -> Any:
        if value is None:
            return None
        kind = _kind_of_value(value)
        if kind is None:
            raise DataError(f"TimestampConverter does not take {type_name(value)} for a moment")
        return self._write_schemaless(self._moments.reader(kind)(value))

    def _struct(self, plan: _Plan, struct: Struct) -> Struct:
        values = list(struct.field_values)
        if None in values:
            fill_absent(struct.schema, values, self._with_defaults)
        if plan.index is not None:
            try:
                schema = plan.schema.fields[plan.index].schema
                values[plan.index] = _converted(plan.convert, schema, values[plan.index])
            except DataError as error:
                raise self._of_field(error) from error
        return Struct.of_valid(plan.schema, values)

    def _plan(self, schema: Schema) -> _Plan:
        if not self._field:
            return _Plan(self._converted(schema), self._converter(schema))
        field = schema.field(self._field) if schema.type is Type.STRUCT else None
        if field is None:
            return _Plan(schema, _as_it_is)
        fields = list(schema.fields)
        fields[field.index] = replace(field, schema=self._converted(field.schema))
        plan = _Plan(schema.replace(fields=tuple(fields), default=None), self._converter(field.schema), field.index)
        if schema.default is None:
            return plan
        return replace(plan, schema=plan.schema.replace(default=self._struct(plan, schema.default)))

    def _converted(self, schema: Schema) -> Schema:
        """Return the target's schema, which is optional if the old one is."""
        return _SCHEMAS[self._target].replace(optional=True) if schema.optional else _SCHEMAS[self._target]

    def _converter(self, schema: Schema) -> Convert:
        kind = _kind_of_schema(schema)
        if kind is None:
            return _refusal(schema)
        read, write = self._moments.reader(kind), self._write
        return lambda value: None if value is None else write(read(value))

    def _of_field(self, error: DataError) -> DataError:
        return DataError(f"Cannot convert the field {self._field}: {error}")


class TimestampConverterKey(TimestampConverter[R]):
    """TimestampConverter for the key of records."""

    part: ClassVar[RecordPart] = RecordPart.KEY


class TimestampConverterValue(TimestampConverter[R]):
    """TimestampConverter for the value of records."""

    part: ClassVar[RecordPart] = RecordPart.VALUE


class _Moments:
    """The parsers and formatters of all forms, from and to ms since 1970."""

    def __init__(self, format: JavaDateFormat | None, units: int, millis: int) -> None:
        self._format = format
        self._units = units
        self._millis = millis
        self._readers: Mapping[str, Callable[[Any], int]] = {
            _STRING: self._read_text,
            _UNIX: self._read_unix,
            **dict.fromkeys(_LOGICAL, _read_logical),
        }

    def reader(self, kind: str) -> Callable[[Any], int]:
        return self._readers[kind]

    def writer(self, kind: str) -> Callable[[int], Any]:
        match kind:
            case "string":
                assert self._format is not None
                return self._format.format
            case "unix":
                return self._write_unix
            case "Date":
                return lambda millis: to_logical(Schema.DATE, millis // MILLIS_PER_DAY)
            case "Time":
                return lambda millis: to_logical(Schema.TIME, millis % MILLIS_PER_DAY)
        return lambda millis: to_logical(Schema.TIMESTAMP, millis)

    def schemaless_writer(self, kind: str) -> Callable[[int], Any]:
        """Return the writer without a schema: a Date or Time is a datetime then, as Java has one type for all."""
        match kind:
            case "Date":
                return lambda millis: to_logical(Schema.TIMESTAMP, millis - millis % MILLIS_PER_DAY)
            case "Time":
                return lambda millis: to_logical(Schema.TIMESTAMP, millis % MILLIS_PER_DAY)
        return self.writer(kind)

    def _read_text(self, value: Any) -> int:
        if not isinstance(value, str):
            raise DataError(f"Expected a text for a moment, not {type_name(value)}")
        if self._format is None:
            raise DataError(f"The moment is a text: TimestampConverter needs {FORMAT} to read it")
        try:
            return self._format.parse(value)
        except ValueError as error:
            raise DataError(f"Could not parse timestamp: {error}") from error

    def _read_unix(self, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise DataError(f"Expected an integer for Unix time, not {type_name(value)}")
        return _scaled(value, self._millis, self._units)

    def _write_unix(self, millis: int) -> int:
        return _scaled(millis, self._units, self._millis)


def _converted(convert: Convert, schema: Schema, value: Any) -> Any:
    """Return a value, or a column, converted to data of `schema`."""
    return value.mapped(convert, schema) if value.__class__ is DataColumn else convert(value)


def _scaled(value: int, times: int, parts: int) -> int:
    """Convert as Java's `TimeUnit`: cut off towards zero, and limited to a long."""
    if parts == 1:
        return max(-_LONG_MAX - 1, min(value * times, _LONG_MAX))
    return value // parts if value >= 0 else -(-value // parts)


def _read_logical(value: Any) -> int:
    if isinstance(value, datetime.datetime):
        return int(from_logical(Schema.TIMESTAMP, value))
    if isinstance(value, datetime.date):
        return int(from_logical(Schema.DATE, value)) * MILLIS_PER_DAY
    if isinstance(value, datetime.time):
        return int(from_logical(Schema.TIME, value))
    raise DataError(f"Expected a date or time, not {type_name(value)}")


def _kind_of_schema(schema: Schema) -> str | None:
    kind = _KINDS_BY_NAME.get(schema.name) if schema.name is not None else None
    return kind or {Type.STRING: _STRING, Type.INT64: _UNIX}.get(schema.type)


def _kind_of_value(value: Any) -> str | None:
    if isinstance(value, str):
        return _STRING
    if isinstance(value, int) and not isinstance(value, bool):
        return _UNIX
    return "Timestamp" if isinstance(value, (datetime.date, datetime.time)) else None


def _refusal(schema: Schema) -> Convert:
    def refuse(value: Any) -> Any:
        raise DataError(f"{schema} is not the schema of a moment: give text, an int64, a Date, Time or Timestamp")

    return refuse


def _as_it_is(value: Any) -> Any:
    return value


def _format_of(target: str, pattern: str) -> JavaDateFormat | None:
    if not pattern:
        if target == _STRING:
            raise ConfigError.invalid(FORMAT, pattern, "TimestampConverter needs it to write text")
        return None
    try:
        return JavaDateFormat(pattern)
    except ValueError as error:
        raise ConfigError.invalid(FORMAT, pattern, f"It must be a pattern of SimpleDateFormat: {error}") from error


_CONFIG: Final = define_replace_null_with_default(
    ConfigDef()
    .define(
        FIELD,
        ConfigType.STRING,
        "",
        importance=Importance.HIGH,
        doc="The field with the timestamp; empty if the whole key or value is the timestamp.",
    )
    .define(
        TARGET_TYPE,
        ConfigType.STRING,
        importance=Importance.HIGH,
        validator=ValidString(*_SCHEMAS),
        doc="The form to convert to: string, unix, Date, Time or Timestamp.",
    )
    .define(
        FORMAT,
        ConfigType.STRING,
        "",
        doc="The format of text, written (for the target string) and read: a pattern of java.text.SimpleDateFormat, "
        "in UTC.",
    )
    .define(
        UNIX_PRECISION,
        ConfigType.STRING,
        "milliseconds",
        importance=Importance.LOW,
        validator=ValidString(*_PRECISIONS),
        doc="The unit of Unix time, read and written: seconds, milliseconds, microseconds or nanoseconds. Digits "
        "finer than a millisecond are lost.",
    )
)
