# SPDX-License-Identifier: Apache-2.0
"""Record headers: an ordered list of (key, value, schema) in which a key may occur more than once."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from headrace.api.data_column import DataColumn
from headrace.api.logical import scale_of
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder

RAW = SchemaBuilder.bytes().optional().build()
"""The schema of a header that a converter of keys or values has added as bytes, which are written as they are."""


class Header(NamedTuple):
    """One header, immutable. `schema` None means schemaless data."""

    key: str
    value: Any
    schema: Schema | None = None

    def rename(self, key: str) -> Header:
        """Return a header with another key and the same value and schema."""
        return Header(key, self.value, self.schema)

    def with_value(self, value: Any, schema: Schema | None) -> Header:
        """Return a header with the same key and another value and schema."""
        return Header(self.key, value, schema)


class Headers:
    """The headers of one record, in order (Java: `Headers`, `ConnectHeaders`).

    Every method that changes the headers returns them, so that calls can be chained::

        record.headers.add_string("origin", "billing").add_long("line", 17)

    Not thread-safe: a record belongs to one thread at a time.
    """

    __slots__ = ("_headers",)

    def __init__(self, headers: Iterable[Header] = ()) -> None:
        self._headers: list[Header] = list(headers)

    def __len__(self) -> int:
        return len(self._headers)

    def __iter__(self) -> Iterator[Header]:
        """Iterate in order of addition. Do not change the headers meanwhile."""
        return iter(self._headers)

    def __eq__(self, other: object) -> bool:
        return self._headers == other._headers if isinstance(other, Headers) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Headers({self._headers!r})"

    def last_with_name(self, key: str) -> Header | None:
        """Return the last header with that key, or None."""
        return next((header for header in reversed(self._headers) if header.key == key), None)

    def all_with_name(self, key: str) -> list[Header]:
        """Return all headers with that key, in order."""
        return [header for header in self._headers if header.key == key]

    def add_header(self, header: Header) -> Headers:
        """Append `header`."""
        self._headers.append(header)
        return self

    def add(self, key: str, value: Any, schema: Schema | None = None) -> Headers:
        """Append a header. Raise DataError if `schema` is given and the value does not fit it."""
        if schema is not None and value.__class__ is not DataColumn:
            schema.validate_value(value, name=key)
        self._headers.append(Header(key, value, schema))
        return self

    def add_string(self, key: str, value: str | None) -> Headers:
        """Append a STRING header; optional if the value is None."""
        return self.add(key, value, Schema.STRING if value is not None else Schema.OPTIONAL_STRING)

    def add_bytes(self, key: str, value: bytes) -> Headers:
        """Append a BYTES header."""
        return self.add(key, value, Schema.BYTES)

    def add_boolean(self, key: str, value: bool) -> Headers:
        """Append a BOOLEAN header."""
        return self.add(key, value, Schema.BOOLEAN)

    def add_byte(self, key: str, value: int) -> Headers:
        """Append an INT8 header."""
        return self.add(key, value, Schema.INT8)

    def add_short(self, key: str, value: int) -> Headers:
        """Append an INT16 header."""
        return self.add(key, value, Schema.INT16)

    def add_int(self, key: str, value: int) -> Headers:
        """Append an INT32 header."""
        return self.add(key, value, Schema.INT32)

    def add_long(self, key: str, value: int) -> Headers:
        """Append an INT64 header."""
        return self.add(key, value, Schema.INT64)

    def add_float(self, key: str, value: float) -> Headers:
        """Append a FLOAT32 header."""
        return self.add(key, value, Schema.FLOAT32)

    def add_double(self, key: str, value: float) -> Headers:
        """Append a FLOAT64 header."""
        return self.add(key, value, Schema.FLOAT64)

    def add_list(self, key: str, value: Sequence[Any] | None, schema: Schema) -> Headers:
        """Append an ARRAY header with the schema of the array."""
        return self.add(key, value, schema)

    def add_map(self, key: str, value: Mapping[Any, Any] | None, schema: Schema) -> Headers:
        """Append a MAP header with the schema of the map."""
        return self.add(key, value, schema)

    def add_struct(self, key: str, value: Struct) -> Headers:
        """Append a STRUCT header with the struct's schema."""
        return self.add(key, value, value.schema)

    def add_decimal(self, key: str, value: decimal.Decimal) -> Headers:
        """Append a Decimal header with the scale of the value."""
        return self.add(key, value, SchemaBuilder.decimal(scale_of(value)).build())

    def add_date(self, key: str, value: datetime.date) -> Headers:
        """Append a Date header."""
        return self.add(key, value, Schema.DATE)

    def add_time(self, key: str, value: datetime.time) -> Headers:
        """Append a Time header."""
        return self.add(key, value, Schema.TIME)

    def add_timestamp(self, key: str, value: datetime.datetime) -> Headers:
        """Append a Timestamp header."""
        return self.add(key, value, Schema.TIMESTAMP)

    def remove(self, key: str) -> Headers:
        """Remove all headers with that key."""
        self._headers = [header for header in self._headers if header.key != key]
        return self

    def retain_latest(self, key: str | None = None) -> Headers:
        """Keep only the last header of `key`, or of every key when None."""
        seen: set[str] = set()
        kept: list[Header] = []
        for header in reversed(self._headers):
            if (key is None or header.key == key) and header.key in seen:
                continue
            seen.add(header.key)
            kept.append(header)
        self._headers = kept[::-1]
        return self

    def clear(self) -> Headers:
        """Remove all headers."""
        self._headers = []
        return self

    def duplicate(self) -> Headers:
        """Return a copy; the headers in it are immutable and shared."""
        return Headers(self._headers)

    def apply(self, transform: Callable[[Header], Header | None], key: str | None = None) -> Headers:
        """Replace every header, or those with `key`, by the result of `transform`; None removes the header."""
        changed = (transform(header) if key is None or header.key == key else header for header in self._headers)
        self._headers = [header for header in changed if header is not None]
        return self
