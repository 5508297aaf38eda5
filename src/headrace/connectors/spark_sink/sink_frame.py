# SPDX-License-Identifier: Apache-2.0
"""The DataFrames of a SparkSink: the rows that it writes, and the states of partitions taken over. In the worker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from headrace.api import arrow
from headrace.api.errors import ConfigError, DataError
from headrace.api.frame_json import malformed_rows, parse_json_column, quoted
from headrace.api.frame_sql import query_frame
from headrace.connectors.common.spark_reader import attribute_errors_to
from headrace.connectors.spark_sink.spark_sink_config import INCLUDE, PARTITION_BY, VALUE_SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PREFIX: Final = "kafka_"
_METADATA: Final = {
    "key": arrow.KEY,
    "topic": arrow.TOPIC,
    "partition": f"`{arrow.PARTITION}`",
    "offset": f"`{arrow.OFFSET}`",
    "timestamp": f"timestamp_millis(`{arrow.TIMESTAMP}`)",
}
_VIEW: Final = "records"
_MALFORMED: Final = ("MALFORMED_RECORD", "CAST_INVALID_INPUT")


def rows(frame: DataFrame, settings: Mapping[str, str], more: Sequence[str] = ()) -> DataFrame:
    """Return the value's columns, those of ``include.columns``, and ``more``: expressions over the records."""
    frame = _typed(frame, settings)
    names = value_columns(frame)
    wanted = listed(settings[INCLUDE])
    refuse_both(names, wanted)
    return frame.selectExpr(*_value(frame), *(_column(name) for name in wanted), *more)


def partitioned_rows(
    spark: SparkSession, frame: DataFrame, settings: Mapping[str, str]
) -> tuple[DataFrame, Sequence[str]]:
    """Return ``rows`` with the values of ``partition.by`` too, and the names of their columns."""
    expressions = settings.get(PARTITION_BY)
    if not expressions:
        return rows(frame, settings), ()
    frame = _typed(frame, settings)
    names, wanted = value_columns(frame), listed(settings[INCLUDE])
    refuse_both(names, wanted)
    seen = [name for name in _METADATA if PREFIX + name not in names]
    everything = frame.selectExpr(*_value(frame), *map(_column, seen))
    everything.createOrReplaceTempView(_VIEW)
    # Spark itself parses the list of expressions.
    by = query_frame(spark, f"SELECT {expressions} FROM {_VIEW}").columns
    if len({name.lower() for name in by}) < len(by):
        raise ConfigError.invalid(PARTITION_BY, expressions, f"two of its columns have one name: {', '.join(by)}")
    both = spark.sql(f"SELECT *, {expressions} FROM {_VIEW}")
    kept = [*names, *(PREFIX + name for name in wanted)]
    numbered = both.toDF(*(f"c{index}" for index in range(len(both.columns))))
    chosen = [
        (index, name)
        for index, name in enumerate(everything.columns)
        if name in kept and name.lower() not in {each.lower() for each in by}
    ]
    chosen += [(len(everything.columns) + index, name) for index, name in enumerate(by)]
    return numbered.selectExpr(*(f"c{index} AS {quoted(name)}" for index, name in chosen)), by


def value_columns(frame: DataFrame) -> list[str]:
    """Return the names of the value's columns in a typed frame."""
    kind = frame.schema[arrow.VALUE].dataType
    if kind.typeName() == "struct":
        return list(kind.fieldNames())  # type: ignore[attr-defined]
    return [] if kind.typeName() == "void" else [arrow.VALUE]


@contextmanager
def reporting_bad_values(frame: DataFrame, settings: Mapping[str, str]) -> Iterator[None]:
    """Raise DataError for a failed write within if a value caused it; the error names the first such value."""
    try:
        yield
    except Exception as error:
        if VALUE_SCHEMA not in settings or not any(name in str(error) for name in _MALFORMED):
            raise
        found = _first_malformed(frame, settings[VALUE_SCHEMA])
        if found is None:
            raise
        topic, partition, offset, text = found
        raise DataError(
            f"The value at offset {offset} of {topic}-{partition} is no JSON that fits {VALUE_SCHEMA}: {text}"
        ) from error


def _first_malformed(frame: DataFrame, schema: str) -> Sequence[Any] | None:
    """Find the first malformed value by a second read, which marks such values. None if it finds none."""
    try:
        return (
            malformed_rows(frame, arrow.VALUE, schema)
            .orderBy(quoted(arrow.PARTITION), quoted(arrow.OFFSET))
            .selectExpr(arrow.TOPIC, quoted(arrow.PARTITION), quoted(arrow.OFFSET), f"left({arrow.VALUE}, 200)")
            .first()
        )
    except Exception:  # the original error is more informative
        return None


def _typed(frame: DataFrame, settings: Mapping[str, str]) -> DataFrame:
    """Return the frame with a text value parsed by ``value.schema``."""
    schema = settings.get(VALUE_SCHEMA)
    if not schema or frame.schema[arrow.VALUE].dataType.typeName() != "string":
        return frame
    with attribute_errors_to(VALUE_SCHEMA, schema):  # a task may find it that was created while Spark was not there
        return parse_json_column(frame, arrow.VALUE, schema)


def _value(frame: DataFrame) -> list[str]:
    names = value_columns(frame)
    if names == [arrow.VALUE] and frame.schema[arrow.VALUE].dataType.typeName() != "struct":
        return names
    return [f"{arrow.VALUE}.{quoted(name)}" for name in names]


def _column(name: str) -> str:
    return f"{_METADATA[name]} AS {PREFIX}{name}"


def refuse_both(names: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise DataError if the value has a column that ``include.columns`` would add."""
    both = [PREFIX + name for name in wanted if PREFIX + name in names]
    if both:
        raise DataError(f"The value has a field {both[0]} already, which {INCLUDE} would add")


def listed(text: str) -> list[str]:
    """Return the names of a list in a job's settings."""
    return [name for name in text.split(",") if name]


def states_frame(spark: SparkSession, states: Iterable[tuple[int, int, int]]) -> DataFrame:
    """Return a row for each partition: its number, its next offset, and the number of its last write."""
    partitions, nexts, numbers = zip(*states, strict=True)
    table = pa.table(
        {
            "partition": pa.array(partitions, pa.int32()),
            "next": pa.array(nexts, pa.int64()),
            "number": pa.array(numbers, pa.int64()),
        }
    )
    return spark.createDataFrame(table)
