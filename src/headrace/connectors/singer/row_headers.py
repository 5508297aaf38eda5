# SPDX-License-Identifier: Apache-2.0
"""Headers that say which row of which stream a record is: by them a task finds the rows that it has written. Pure."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from headrace.api.errors import DataError
from headrace.api.headers import Header, Headers
from headrace.api.record import SourceRecord
from headrace.api.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, Struct
from headrace.api.source import CommittedRecord

SOURCE: Final = "singer.source"
"""Connector and stream: other connectors may write to the same topic."""
KEY: Final = "singer.key"
VERSION: Final = "singer.version"

_FROM_TEXT: Final[Mapping[str | None, Callable[[str], Any]]] = {
    DECIMAL: Decimal,
    TIMESTAMP: datetime.datetime.fromisoformat,
    DATE: datetime.date.fromisoformat,
    TIME: datetime.time.fromisoformat,
}
"""The values of logical types from their texts, by the schema's name."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a stream by the text of its key; ``version`` is None if its RECORD had none. ``gone``: a tombstone."""

    key: str
    version: int | None
    gone: bool


def source_name(connector: str, stream: str) -> str:
    """Return the value of ``singer.source``."""
    return f"{connector}/{stream}"


def row_headers(source: str, key: Struct, version: int | None) -> Headers:
    """Return the headers of a row. Equal keys of one schema have equal texts, however the tap has written them."""
    headers = [Header(SOURCE, source, Schema.STRING), Header(KEY, _key_text(key), Schema.STRING)]
    if version is not None:
        headers.append(Header(VERSION, version, Schema.INT64))
    return Headers(headers)


def row_of(record: SourceRecord) -> tuple[str, Row] | None:
    """Return source and row of a record; None if it has no such headers."""
    if not record.has_headers:
        return None
    source, key, version = (record.headers.last_with_name(name) for name in (SOURCE, KEY, VERSION))
    if source is None or key is None:
        return None
    return source.value, Row(key.value, version.value if version is not None else None, record.value is None)


def committed_row(stored: CommittedRecord, source: str) -> Row | None:
    """Return the row of a record in Kafka; None if it is none of this source.

    The headers are those of SimpleHeaderConverter, which writes texts as they are.
    """
    headers = dict(stored.headers)
    key, version = headers.get(KEY), headers.get(VERSION)
    if key is None or headers.get(SOURCE) != source.encode():
        return None
    return Row(key.decode(), int(version) if version is not None else None, stored.value is None)


def key_struct(schema: Schema, text: str) -> Struct | None:
    """Return the key of a row; None if it is not one of this schema, as its stream had another one then."""
    parts = json.loads(text)
    if list(parts) != [field.name for field in schema.fields]:
        return None
    try:
        key = Struct(schema)
        for field in schema.fields:
            key.put(field.name, _part(field.schema, parts[field.name]))
        key.validate()
    except (DataError, TypeError, ValueError, ArithmeticError):
        return None
    return key


def _key_text(key: Struct) -> str:
    return json.dumps({field.name: key.get(field.name) for field in key.schema.fields}, default=_logical_text)


def _logical_text(part: Any) -> Any:
    match part:
        case Decimal():
            return str(part)
        case datetime.date() | datetime.time():
            return part.isoformat()
        case Struct():
            return part.as_dict()
    raise TypeError(f"{part!r} is no part of a key")


def _part(schema: Schema, part: Any) -> Any:
    from_text = _FROM_TEXT.get(schema.name)
    return part if from_text is None else from_text(part)
