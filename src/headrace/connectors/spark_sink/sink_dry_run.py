# SPDX-License-Identifier: Apache-2.0
"""The rows that a SparkSink would write of some records, with columns and their types, without Spark.

The columns are those of `sink_frame.rows` and of `spark_sink_postgres`, which have Spark make them.
They are compared with those of a database's table, which Spark reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from headrace.api import arrow
from headrace.api.errors import DataError
from headrace.api.frames import FrameJob
from headrace.api.jdbc_drivers import driver_of
from headrace.api.jdbc_urls import check_jdbc
from headrace.api.sink import DryRun, TargetCheck
from headrace.connectors.common.spark_reader import JDBC, with_spark_errors
from headrace.connectors.spark_sink.sink_frame import PREFIX, listed, refuse_both
from headrace.connectors.spark_sink.spark_sink_config import (
    INCLUDE,
    INSERT_MODE,
    KEY_FIELDS,
    PARTITION_BY,
    PATH,
    TABLE,
    UPSERT,
    VALUE_SCHEMA,
    SinkSettings,
)
from headrace.connectors.spark_sink.spark_types import column_name, ddl_fields, spark_type
from headrace.connectors.spark_sink.written_files import not_compared, written_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Settings = Mapping[str, str]
_SHOWN: Final = 200
_TIMESTAMP: Final = pa.timestamp("us", "UTC")
_WIDER: Final = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE")
"""Numbers: a column takes those of its own type, and those before it."""
_ROWS: Final = "name STRING, type STRING"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the target, with a value for each row; of a ``converted`` one Spark converts them to the type."""

    name: str
    type: str
    values: Sequence[Any]
    converted: bool = False


def dry_run(settings: SinkSettings, tables: Sequence[tuple[str, pa.Table]]) -> DryRun:
    """Return what would be written of tables, each of one topic. Raise DataError for records that cannot be written."""
    rows: list[dict[str, Any]] = []
    schemas: dict[str, None] = {}
    checks: list[TargetCheck] = []
    notes: dict[str, None] = {}
    for topic, table in tables:
        job = settings.job(topic, ())
        columns = _columns(table, job)
        rows += _upserts(table, columns, job, notes) if job[INSERT_MODE] == UPSERT else _rows(columns, table.num_rows)
        target = f"{job.get(TABLE) or job.get(PATH)}: " if settings.by_topic else ""
        schemas[target + ", ".join(f"{column_name(each.name)} {each.type}" for each in columns)] = None
        notes |= dict.fromkeys(_differences(columns, settings.format, job))
        if settings.format == JDBC:
            checks.append(_check(columns, job))
    notes |= dict.fromkeys(_unshown(settings.shape))
    return DryRun(rows, "; ".join(schemas) or None, tuple(notes), tuple(checks))


def _rows(columns: Sequence[Column], count: int) -> list[dict[str, Any]]:
    return [{each.name: each.values[row] for each in columns} for row in range(count)]


def _columns(table: pa.Table, job: Settings) -> list[Column]:
    columns = _value_columns(table, job)
    wanted = listed(job[INCLUDE])
    refuse_both([each.name for each in columns], wanted)
    columns += [_metadata(table, name) for name in wanted]
    if job[INSERT_MODE] != UPSERT:
        return columns
    keys = _key_columns(table, listed(job[KEY_FIELDS]))
    names = {each.name for each in keys}
    # The record's key takes precedence over fields of the value.
    return [*(each for each in columns if each.name not in names), *keys]


def _value_columns(table: pa.Table, job: Settings) -> list[Column]:
    values = table.column(arrow.VALUE)
    if pa.types.is_null(values.type):
        return []
    if pa.types.is_struct(values.type):
        return _fields(values)
    if VALUE_SCHEMA in job and pa.types.is_string(values.type):
        return _parsed(table, job[VALUE_SCHEMA])
    return [_column(arrow.VALUE, values)]


def _fields(structs: pa.ChunkedArray) -> list[Column]:
    return [_column(field.name, _field(structs, field.name)) for field in structs.type]


def _field(structs: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    # A null struct has null fields, which StructArray.field would not show.
    return pc.struct_field(structs, name)


def _parsed(table: pa.Table, ddl: str) -> list[Column]:
    """Return the columns that ``value.schema`` names, with the values of the JSON."""
    fields, texts = ddl_fields(ddl), table.column(arrow.VALUE).to_pylist()
    kinds = (dict, list) if fields is None else (dict,)
    values = [_parse(table, row, text, kinds) for row, text in enumerate(texts)]
    if fields is None:
        return [Column(arrow.VALUE, ddl.strip(), values, converted=True)]
    return [
        Column(name, kind, [value.get(name) if value else None for value in values], converted=True)
        for name, kind in fields
    ]


def _parse(table: pa.Table, row: int, text: str | None, kinds: tuple[type, ...]) -> Any:
    """Return the JSON of a row, of one of these kinds; None for null and, as in Spark, for an empty text."""
    try:
        value = json.loads(text) if text and text.strip() else None
        if isinstance(value, (*kinds, type(None))):
            return value
        reason: Exception | None = None
    except ValueError as error:
        reason = error
    topic, partition, offset = (table.column(n)[row] for n in (arrow.TOPIC, arrow.PARTITION, arrow.OFFSET))
    raise DataError(
        f"The value at offset {offset} of {topic}-{partition} is no JSON that fits {VALUE_SCHEMA}: {text:.{_SHOWN}}"
    ) from reason


def _metadata(table: pa.Table, name: str) -> Column:
    values = table.column(name)
    if name == arrow.TIMESTAMP:
        values = values.cast(pa.timestamp("ms", "UTC")).cast(_TIMESTAMP)
    return _column(PREFIX + name, values)


def _key_columns(table: pa.Table, names: Sequence[str]) -> list[Column]:
    keys = table.column(arrow.KEY)
    if pa.types.is_struct(keys.type):
        missing = [name for name in names if keys.type.get_field_index(name) < 0]
        if missing:
            raise DataError(f"Keys of records have no field {missing[0]}, which {KEY_FIELDS} names")
        return [_column(name, _field(keys, name)) for name in names]
    if len(names) > 1:
        raise DataError(f"{KEY_FIELDS} names {len(names)} columns, but keys of records are no structs")
    if pa.types.is_null(keys.type):
        raise DataError(f"Records have no keys, but {INSERT_MODE}={UPSERT} needs them")
    return [_column(names[0], keys)]


def _column(name: str, values: pa.ChunkedArray) -> Column:
    return Column(name, spark_type(values.type), values.to_pylist(maps_as_pydicts="lossy"))


def _upserts(table: pa.Table, columns: Sequence[Column], job: Settings, notes: dict[str, None]) -> list[dict[str, Any]]:
    """Return the last row of each key, unless it deletes that of the target, which becomes a note."""
    keys, last = listed(job[KEY_FIELDS]), dict[str, tuple[dict[str, Any], bool]]()
    deleting = pc.is_null(table.column(arrow.VALUE)).to_pylist()
    for row, deletes in zip(_rows(columns, table.num_rows), deleting, strict=True):
        key = _text({name: row[name] for name in keys})
        last.pop(key, None)
        last[key] = (row, deletes)
    notes |= {f"the row of this key is deleted: {key}": None for key, (_, deletes) in last.items() if deletes}
    return [row for row, deletes in last.values() if not deletes]


def _text(value: object) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)


def _differences(columns: Sequence[Column], format: str, job: Settings) -> Iterator[str]:
    """Yield what differs between the columns and those that are there already, or why that is not known."""
    if (reason := not_compared(format, job.get(PATH), job.get(TABLE))) is not None:
        yield reason
    found = written_columns(format, job.get(PATH))
    if found is None:
        return
    there, new = found.columns, {each.name: each for each in columns}
    for name, each in new.items():
        if name not in there and name not in found.partitions:
            yield f"{found.place} has no column {column_name(name)} {each.type}"
        elif name in there and not each.converted and there[name] != each.type:
            yield f"{column_name(name)} is {each.type}, and {there[name]} in {found.place}"
    for name in (name for name in there if name not in new):
        yield f"{found.place} has the column {column_name(name)} {there[name]}, which these records have not"


def _check(columns: Sequence[Column], job: Settings) -> TargetCheck:
    """Return the comparison of the columns with those of a database's table; Spark converts values as it writes."""
    target, written = job[TABLE], {each.name: each.type for each in columns}
    subject = f"the columns are not compared with those of {target}"
    return TargetCheck(subject, columns_job(job), lambda found: differences(written, found, target))


def _unshown(shape: Settings) -> Iterator[str]:
    """Yield what Spark does beside."""
    if VALUE_SCHEMA in shape:
        yield f"Spark converts values to the types of {VALUE_SCHEMA} when it writes; here they are as in the JSON"
    if PARTITION_BY in shape:
        yield f"Spark adds the columns of {PARTITION_BY}={shape[PARTITION_BY]}, which are not shown"


def columns_job(job: Mapping[str, str]) -> FrameJob:
    """Return the job that reads the names and types of a table's columns; ``job`` is the settings of a write."""
    return FrameJob(f"{__name__}:read_columns", job, f"the columns of {job[TABLE]}")


def read_columns(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> DataFrame:
    """Frame function: ask the database for the table's columns, and for none of its rows."""
    given = json.loads(settings["options"])
    known = driver_of(given.get("url", ""))
    # Java finds no driver of ``spark.jars`` that is not named.
    named = {} if known is None else {"driver": known.class_name}
    options = {**named, **given, "dbtable": settings[TABLE]}
    check_jdbc(spark, options)
    table = with_spark_errors(settings, lambda: spark.read.format(JDBC).options(**options).load())
    fields = [(field.name(), field.dataType().sql()) for field in table._jdf.schema().fields()]
    return spark.createDataFrame(fields, _ROWS)


def differences(written: Mapping[str, str], found: pa.Table, target: str) -> Iterator[str]:
    """Yield what differs between columns to write, by their types, and the result of ``columns_job``."""
    there = dict(zip(found.column("name").to_pylist(), found.column("type").to_pylist(), strict=True))
    for name, kind in written.items():
        if name not in there:
            yield f"{target} has no column {column_name(name)} {kind}"
        elif not _fits(kind, there[name]):
            yield f"{column_name(name)} is {kind}, and {there[name]} in {target}"
    for name in (name for name in there if name not in written):
        yield f"{target} has the column {column_name(name)} {there[name]}, which these records have not"


def _fits(kind: str, column: str) -> bool:
    if kind in _WIDER and column in _WIDER:
        return _WIDER.index(kind) <= _WIDER.index(column)
    return kind in (column, "VOID")
