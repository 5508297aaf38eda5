# SPDX-License-Identifier: Apache-2.0
"""A DataFrame's column of JSON text, parsed by columns that a user gives as Spark's DDL.

Spark reads a JSON number as a timestamp in seconds, and no number as a date. JSON that Connect's `JsonConverter` wrote
has milliseconds, and days since 1970-01-01. So fields of these types are parsed as VARIANT, which keeps what the JSON
had, and converted then: a number as Connect writes it, text as Spark reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LARGEST_MILLIS: Final = (1 << 63) // 1000 - 1
"""Spark's timestamps are microseconds in 64 bits."""
_LARGEST_DAYS: Final = (1 << 31) - 1
_NUMBERS: Final = {
    "timestamp": (_LARGEST_MILLIS, "timestamp_millis(CAST({} AS BIGINT))"),
    "timestamp_ntz": (
        _LARGEST_MILLIS,
        "timestampadd(MILLISECOND, CAST({} AS BIGINT), TIMESTAMP_NTZ'1970-01-01 00:00:00')",
    ),
    "date": (_LARGEST_DAYS, "date_from_unix_date(CAST({} AS INT))"),
}
"""The largest number of a type, and the SQL that converts one."""
_MARK: Final = "headrace malformed"
_TYPES: Final = "_headrace_types"
"""The attribute of a session that holds the types of texts which it has parsed."""


def parse_json_column(frame: DataFrame, name: str, ddl: str) -> DataFrame:
    """Return the frame with a column of JSON text, or of its bytes, parsed by `ddl`: fields, or one nested type.

    Missing fields are null. Text that does not fit fails the frame's job. Raises Spark's errors for a bad `ddl`.
    """
    kind = _type_of(frame, ddl)
    parsed = f"from_json(CAST({quoted(name)} AS STRING), {literal(_read_type(kind))}, map('mode', 'FAILFAST'))"
    return _with(_with(frame, name, parsed), name, _converted(kind, quoted(name)))


def malformed_rows(frame: DataFrame, name: str, fields: str) -> DataFrame:
    """Return the rows whose column of JSON text does not fit the fields of a DDL."""
    kind = _type_of(frame, fields)
    marked = f"{_read_type(kind)[:-1]}, {quoted(_MARK)}: STRING>"
    parsed = f"from_json({quoted(name)}, {literal(marked)}, map('columnNameOfCorruptRecord', {literal(_MARK)}))"
    seen = frame.selectExpr("*", f"{parsed} AS {quoted(_MARK)}")
    bad = f"{quoted(_MARK)}.{quoted(_MARK)} IS NOT NULL OR {_unfit(kind, quoted(_MARK))}"
    return seen.where(bad).drop(_MARK)


def sql_type_of(frame: DataFrame, ddl: str) -> str:
    """Return the type that `from_json` parses a DDL to, as SQL."""
    return _sql(_type_of(frame, ddl))


def quoted(name: str) -> str:
    """Return any name, quoted for Spark's SQL."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """Return text as a literal of Spark's SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _type_of(frame: DataFrame, ddl: str) -> Any:
    """Return the type of a DDL. A session parses each text once."""
    session = frame.sparkSession
    known: dict[str, Any] = vars(session).setdefault(_TYPES, {})
    if ddl not in known:
        known[ddl] = session.sql(f"SELECT from_json('', {literal(ddl)}) AS parsed").schema["parsed"].dataType
    return known[ddl]


def _with(frame: DataFrame, name: str, expression: str) -> DataFrame:
    others = [f"{expression} AS {quoted(name)}" if each == name else quoted(each) for each in frame.columns]
    return frame.selectExpr(*others)


def _read_type(kind: Any) -> str:
    """Return the type to parse: `kind`, with VARIANT in place of dates and timestamps."""
    return _sql(kind, dict.fromkeys(_NUMBERS, "VARIANT"))


def _sql(kind: Any, instead: dict[str, str] | None = None) -> str:
    # The text that pyspark has for a type does not quote the names of fields.
    name = kind.typeName()
    if name == "struct":
        fields = (f"{quoted(field.name)}: {_sql(field.dataType, instead)}" for field in kind.fields)
        return f"STRUCT<{', '.join(fields)}>"
    if name == "array":
        return f"ARRAY<{_sql(kind.elementType, instead)}>"
    if name == "map":
        return f"MAP<{_sql(kind.keyType)}, {_sql(kind.valueType, instead)}>"
    return (instead or {}).get(name) or str(kind.simpleString())


def _converted(kind: Any, value: str, depth: int = 0) -> str:
    """Return the SQL of a parsed value as `kind`; `value` itself if there is nothing to convert in it."""
    name, entry = kind.typeName(), f"entry{depth}"
    if name in _NUMBERS:
        return _leaf(name, value, "CAST")
    if name == "struct":
        parts = [(each.name, f"{value}.{quoted(each.name)}", each.dataType) for each in kind.fields]
        converted = [(field, part, _converted(inner, part, depth + 1)) for field, part, inner in parts]
        if all(part == whole for _, part, whole in converted):
            return value
        fields = ", ".join(f"{literal(field)}, {whole}" for field, _, whole in converted)
        return f"CASE WHEN {value} IS NOT NULL THEN named_struct({fields}) END"
    if name in ("array", "map"):
        inner = _converted(kind.elementType if name == "array" else kind.valueType, entry, depth + 1)
        if inner != entry:
            function = (
                f"transform({value}, {entry}" if name == "array" else f"transform_values({value}, (key{depth}, {entry})"
            )
            return f"{function} -> {inner})"
    return value


def _leaf(name: str, value: str, cast: str) -> str:
    """Return the SQL of a VARIANT as a date or timestamp; `cast` decides what a value that does not fit becomes."""
    largest, of_number = _NUMBERS[name]
    whole = f"schema_of_variant({value}) = 'BIGINT' AND CAST({value} AS BIGINT) BETWEEN -{largest} AND {largest}"
    return f"CASE WHEN {whole} THEN {of_number.format(value)} ELSE {cast}(CAST({value} AS STRING) AS {name}) END"


def _unfit(kind: Any, value: str, depth: int = 0) -> str:
    """Return the SQL that is true if a value, parsed as `_read_type`, has a part that `_converted` fails at."""
    name, entry = kind.typeName(), f"entry{depth}"
    if name in _NUMBERS:
        return f"{value} IS NOT NULL AND NOT is_variant_null({value}) AND {_leaf(name, value, 'try_cast')} IS NULL"
    if name == "struct":
        parts = (_unfit(each.dataType, f"{value}.{quoted(each.name)}", depth + 1) for each in kind.fields)
        return " OR ".join(f"({part})" for part in parts if part != "false") or "false"
    if name in ("array", "map"):
        inner = _unfit(kind.elementType if name == "array" else kind.valueType, entry, depth + 1)
        if inner != "false":
            entries = value if name == "array" else f"map_values({value})"
            return f"coalesce(exists({entries}, {entry} -> {inner}), false)"
    return "false"
