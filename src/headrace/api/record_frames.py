# SPDX-License-Identifier: Apache-2.0
"""Records as rows of a DataFrame, and back: the columns that a step on frames is given, and may return.

===========  ========================  ================================================================================
column       given as                  may be returned as
===========  ========================  ================================================================================
`topic`      STRING                    STRING, never null
`partition`  INT, null if unset        INT, BIGINT, SMALLINT or TINYINT; null leaves it to the partitioner
`key`        by its schema, or VARIANT any type that Connect data can hold, or VARIANT
`value`      by its schema, or VARIANT any type that Connect data can hold, or VARIANT; null is a tombstone
`headers`    MAP<STRING, ...>          MAP<STRING, ...> or ARRAY<STRUCT<key: STRING, value: ...>>
`timestamp`  TIMESTAMP, null if unset  TIMESTAMP, TIMESTAMP_NTZ, DATE, or BIGINT in ms since the epoch
`offset`     BIGINT, in sinks only     in sinks, never null: BIGINT, INT, SMALLINT or TINYINT
===========  ========================  ================================================================================

In a sink `partition` and `offset` are the record's coordinates in Kafka. Each row of a result must have those of one of
the records that it was made from; of several the last one: `GROUP BY partition` and `max(offset) AS offset`.

A key or value with a Connect schema has the corresponding type; one without is VARIANT. `value.schema`, in Spark's DDL,
sets the type of the value: text is then parsed as JSON if that type is a struct, an array or a map, and cast if not.
Text that is not such JSON is an error.

If a result lacks `value`, all its columns besides those above become the fields of a struct, which is the value. If it
lacks `topic`, the rows go to the topic of the batch, which must be a single one. Any other missing column is unset.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from headrace.api.arrow import HEADERS, KEY, OFFSET, PARTITION, TIMESTAMP, TOPIC, VALUE
from headrace.api.errors import ConfigError, ConnectError
from headrace.api.frame_json import parse_json_column, quoted, sql_type_of
from headrace.api.frame_transform import VALUE_SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FUNCTION: Final = "headrace.api.record_frames:transform"
"""The `FrameFunction` that calls the step's own function."""
STEP: Final = "headrace.step"
"""The setting with the name of the step's own function."""
VARIANTS: Final = "headrace.variants"
"""The setting with the columns, separated by commas, that arrive as JSON and become VARIANT."""
OFFSETS: Final = "headrace.offsets"
"""The setting that is present, with any value, if records have offsets: in sinks."""
AS_JSON: Final = " as JSON"
"""The suffix of the name of a result's column that was VARIANT."""
COLUMNS: Final = (TOPIC, PARTITION, KEY, VALUE, HEADERS, TIMESTAMP)

_ABSENT: Final = {
    PARTITION: "INT",
    KEY: "STRING",
    VALUE: "STRING",
    HEADERS: "MAP<STRING, STRING>",
    TIMESTAMP: "TIMESTAMP",
    OFFSET: "BIGINT",
}
_SCALAR: Final = re.compile(r"\s*\w+\s*(\([\d\s,]*\)\s*)?")
_PARTITION_TYPES: Final = ("int", "bigint", "smallint", "tinyint", "void")
_OFFSET_TYPES: Final = ("int", "bigint", "smallint", "tinyint")
_TIMESTAMP_TYPES: Final = ("timestamp", "timestamp_ntz", "bigint", "date", "void")


def transform(session: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> DataFrame:
    """Cast the batch, call the step's function, check and normalise its result. A `FrameFunction`.

    Raises:
        ConfigError: the result has no valid columns of records, or `value.schema` is no type. Errors of the function
            are raised unchanged.
    """
    assert frame is not None
    result = _function(settings[STEP])(session, records_of(frame, settings), settings)
    return rows_of(result, settings)


def records_of(frame: DataFrame, settings: Mapping[str, str]) -> DataFrame:
    """Return the frame with all columns of records, of the types above."""
    variants, value_schema = settings.get(VARIANTS, "").split(","), settings.get(VALUE_SCHEMA)
    if value_schema and _is_json(frame, VALUE in variants, value_schema):
        frame, value_schema = parse_json_column(frame, VALUE, value_schema), None
        variants = [name for name in variants if name != VALUE]
    return frame.selectExpr(*(_column(name, frame, name in variants, value_schema) for name in _columns(settings)))


def _is_json(frame: DataFrame, json: bool, ddl: str) -> bool:
    """Return True if the value is text to parse by a DDL."""
    if VALUE not in frame.columns or _is_scalar(ddl):
        return False
    return json or frame.schema[VALUE].dataType.typeName() in ("string", "binary")


def _columns(settings: Mapping[str, str]) -> tuple[str, ...]:
    return (*COLUMNS, OFFSET) if OFFSETS in settings else COLUMNS


def _column(name: str, frame: DataFrame, json: bool, value_schema: str | None) -> str:
    if name == VALUE and value_schema:
        return f"{_typed(frame, json, value_schema)} AS {VALUE}"
    if name not in frame.columns:
        return f"CAST(NULL AS {_ABSENT[name]}) AS {name}"
    return f"parse_json({name}) AS {name}" if json else name


def _typed(frame: DataFrame, json: bool, ddl: str) -> str:
    """Return the SQL of the value with the type of `ddl`: fields such as `a INT, b STRING`, or one type."""
    kind = ddl if _is_scalar(ddl) else sql_type_of(frame, ddl)
    if VALUE not in frame.columns:
        return f"CAST(NULL AS {kind})"
    return f"CAST({'parse_json(value)' if json else 'value'} AS {kind})"


def _is_scalar(ddl: str) -> bool:
    return _SCALAR.fullmatch(ddl) is not None


def rows_of(frame: object, settings: Mapping[str, str]) -> DataFrame:
    """Return the result for the task: columns of records only, of types that an Arrow table of records can have.

    Raises:
        ConfigError: a column is missing or has another type; the message names it.
    """
    if not hasattr(frame, "selectExpr"):
        raise ConfigError(f"A step on frames has to give a DataFrame, but gave {type(frame).__name__}")
    result: Any = frame
    types = {field.name: field.dataType for field in result.schema.fields}
    if len(types) < len(result.columns):
        raise ConfigError(f"The result has more than one column of a name: {', '.join(result.columns)}")
    columns = _columns(settings)
    others = [name for name in types if name not in columns]
    if VALUE in types and others:
        raise ConfigError(
            f"The result has columns that no record has: {', '.join(others)}. Records have {', '.join(columns)}; "
            f"in a result without the column {VALUE} the others make a struct, which is the value"
        )
    if VALUE not in types and not others:
        raise ConfigError(f"The result has no value: it has {', '.join(types)} only")
    if OFFSETS in settings:
        _check_origin(types)
    given = [_given(name, types[name]) for name in columns if name in types]
    if others:
        for name in others:
            _check_type(name, types[name])
        given.append(f"struct({', '.join(map(quoted, others))}) AS {VALUE}")
    rows: DataFrame = result.selectExpr(*given)
    return rows


def _check_origin(types: Mapping[str, Any]) -> None:
    missing = [name for name in (PARTITION, OFFSET) if name not in types]
    if missing:
        raise ConfigError(
            f"The result lacks {' and '.join(missing)}: in a sink each row has to name the record that it was made of. "
            f"Select {PARTITION} and {OFFSET}; where rows are made of several records, {PARTITION} and max({OFFSET}) "
            f"AS {OFFSET}, with GROUP BY {PARTITION}"
        )


def _given(name: str, kind: Any) -> str:
    shown = kind.simpleString()
    if name == TOPIC and shown != "string":
        raise _wrong(name, "STRING", shown)
    if name == PARTITION:
        return f"CAST({name} AS INT) AS {name}" if shown in _PARTITION_TYPES else _refuse(name, "INT", shown)
    if name == OFFSET:
        return f"CAST({name} AS BIGINT) AS {name}" if shown in _OFFSET_TYPES else _refuse(name, "BIGINT", shown)
    if name == TIMESTAMP:
        if shown not in _TIMESTAMP_TYPES:
            raise _wrong(name, "TIMESTAMP, or BIGINT in ms", shown)
        return name if shown in ("timestamp", "timestamp_ntz", "bigint") else f"CAST({name} AS TIMESTAMP) AS {name}"
    if name == HEADERS:
        if not re.match(r"map<string,|array<struct<key:string,value:", shown):
            raise _wrong(name, "MAP<STRING, ...> or ARRAY<STRUCT<key: STRING, value: ...>>", shown)
    elif shown == "variant":
        return f"to_json({name}) AS `{name}{AS_JSON}`"
    _check_type(name, kind)
    return name


def _check_type(name: str, kind: Any) -> None:
    shown = kind.simpleString()
    if re.search(r"(^|[<,:])variant($|[>,])", shown):
        raise ConfigError(
            f"Column '{name}' of the result holds VARIANT, of which only a whole key or value can be: cast it, as in "
            f"{name}::string, or use to_json({name})"
        )
    if "interval" in shown:
        raise _wrong(name, "of a type that Connect data can hold", shown)


def _refuse(name: str, wanted: str, shown: str) -> str:
    raise _wrong(name, wanted, shown)


def _wrong(name: str, wanted: str, shown: str) -> ConfigError:
    return ConfigError(f"Column '{name}' of the result must be {wanted}, but is {shown.upper()}")


def _function(name: str) -> Callable[..., object]:
    """Import a function by its name in `FrameJob`; the worker has checked before that its module is allowed."""
    module, _, attribute = name.partition(":")
    try:
        function: Callable[..., object] = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConnectError(f"The worker has no function '{name}': {error}") from error
    return function
