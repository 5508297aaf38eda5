# SPDX-License-Identifier: Apache-2.0
"""Hide the values of fields (Java: `org.apache.kafka.connect.transforms.MaskField`)."""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from headrace import KAFKA_VERSION
from headrace.api import values
from headrace.api.config_def import ConfigDef, Importance
from headrace.api.config_def import Type as ConfigType
from headrace.api.data_column import DataColumn
from headrace.api.errors import DataError
from headrace.api.schema import Schema, Struct, Type
from headrace.api.transform import PartTransformation, R, RecordPart
from headrace.api.validators import NonEmptyString, ValidList
from headrace.transforms._common import (
    REPLACE_NULL_WITH_DEFAULT,
    SchemaCache,
    define_replace_null_with_default,
    fill_absent,
    require_map,
    require_struct,
)

FIELDS: Final = "fields"
REPLACEMENT: Final = "replacement"
_PURPOSE: Final = "mask fields"
_DECIMAL: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")

_EMPTY: Final[Mapping[type, Any]] = {
    bool: False,
    int: 0,
    float: 0.0,
    str: "",
    decimal.Decimal: decimal.Decimal(0),
    datetime.date: datetime.date(1970, 1, 1),
    datetime.time: datetime.time(),
    datetime.datetime: datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC),
}

Mask = Callable[[str], Any]


class _Masks(dict[type, Any]):
    """The mask for values of each Python type: `masks[type(value)]`. Caches its results."""

    def __missing__(self, kind: type) -> Any:
        if issubclass(kind, (list, tuple)):
            return []  # not cached: each record needs a new list
        if issubclass(kind, Mapping):
            return {}
        mask = self[kind] = _by_type(_EMPTY, kind)
        return mask


class _Replacements(dict[type, Any]):
    """The replacement as a value of each Python type; `ways` parse its text."""

    def __init__(self, text: str, ways: Mapping[type, Mask]) -> None:
        super().__init__()
        self._text = text
        self._ways = ways

    def __missing__(self, kind: type) -> Any:
        replacement = self[kind] = _by_type(self._ways, kind)(self._text)
        return replacement


class MaskField(PartTransformation[R]):
    """A transformation that replaces fields by an empty value of the same type, or numbers and text by a replacement.

    Raises DataError for bytes and structs, which cannot be masked; for a replacement of dates and booleans; and for
    null data.
    """

    columnwise: ClassVar[bool] = True

    def version(self) -> str:
        return KAFKA_VERSION

    def config(self) -> ConfigDef:
        return _CONFIG

    def configure(self, configs: Mapping[str, Any]) -> None:
        config = _CONFIG.parse(configs)
        self._fields: Sequence[str] = config[FIELDS]
        self._replacement = config[REPLACEMENT]
        self._with_defaults = config[REPLACE_NULL_WITH_DEFAULT]
        self._masks = self._masks_for(None)
        self._plans = SchemaCache(self._plan)

    def apply_to(self, record: R, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        if schema is None:
            return None, self._schemaless(value)
        return schema, self._struct(require_struct(value, _PURPOSE))

    def _schemaless(self, value: Any) -> dict[str, Any]:
        masked = dict(require_map(value, _PURPOSE))
        masks = self._masks
        name = ""
        try:
            for name in self._fields:
                given = masked.get(name)
                masked[name] = None if given is None else masks[given.__class__]
        except DataError as error:
            raise _of_field(name, error) from error
        return masked

    def _struct(self, struct: Struct) -> Struct:
        schema = struct.schema
        masked = list(struct.field_values)
        if None in masked:
            fill_absent(schema, masked, self._with_defaults)
        index = 0
        try:
            for index, masks in self._plans[schema]:
                given = masked[index]
                if given.__class__ is DataColumn:
                    masked[index] = given.replaced_by(masks[given.kind])
                elif given is not None:
                    masked[index] = masks[given.__class__]
        except DataError as error:
            raise _of_field(schema.fields[index].name, error) from error
        return Struct.of_valid(schema, masked)

    def _plan(self, schema: Schema) -> Sequence[tuple[int, dict[type, Any]]]:
        return [
            (field.index, self._masks_for(field.schema.type)) for field in schema.fields if field.name in self._fields
        ]

    def _masks_for(self, kind: Type | None) -> dict[type, Any]:
        if self._replacement is None:
            return _Masks()
        ways: dict[type, Mask] = {
            int: _INTEGERS.get(kind, _as_long),
            float: _as_float if kind is Type.FLOAT32 else _as_double,
            str: str,
            decimal.Decimal: _as_decimal,
        }
        return _Replacements(self._replacement, ways)


class MaskFieldKey(MaskField[R]):
    """MaskField for the key of records."""

    part: ClassVar[RecordPart] = RecordPart.KEY


class MaskFieldValue(MaskField[R]):
    """MaskField for the value of records."""

    part: ClassVar[RecordPart] = RecordPart.VALUE


def _by_type(entries: Mapping[type, Any], kind: type) -> Any:
    """Return the entry of a type, or else of its nearest base class; a boolean is not a number here."""
    for base in (bool,) if kind is bool else kind.__mro__:
        if base in entries:
            return entries[base]
    hint = "" if entries is _EMPTY else " with a replacement; leave that out or mask only numbers and text"
    raise DataError(f"a value of type {kind.__name__} cannot be masked{hint}")


def _as_long(text: str) -> Any:
    return values.convert_to_long(None, text)


def _as_float(text: str) -> Any:
    return values.convert_to_float(None, text)


def _as_double(text: str) -> Any:
    return values.convert_to_double(None, text)


def _as_decimal(text: str) -> decimal.Decimal:
    if not _DECIMAL.fullmatch(text):
        raise DataError(f"the replacement {text!r} is no number")
    return decimal.Decimal(text)


_INTEGERS: Final[Mapping[Type | None, Mask]] = {
    Type.INT8: lambda text: values.convert_to_byte(None, text),
    Type.INT16: lambda text: values.convert_to_short(None, text),
    Type.INT32: lambda text: values.convert_to_integer(None, text),
}


def _of_field(name: str, error: DataError) -> DataError:
    return DataError(f"Cannot mask the field {name}: {error}")


_CONFIG: Final = define_replace_null_with_default(
    ConfigDef()
    .define(
        FIELDS,
        ConfigType.LIST,
        importance=Importance.HIGH,
        validator=ValidList(allow_empty=False),
        doc="The names of the fields to mask.",
    )
    .define(
        REPLACEMENT,
        ConfigType.STRING,
        None,
        importance=Importance.LOW,
        validator=NonEmptyString(),
        doc="What to put into all these fields instead of an empty value; they must hold numbers or text.",
    )
)
