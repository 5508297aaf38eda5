# SPDX-License-Identifier: Apache-2.0
"""Frame functions of a SparkSink that writes to PostgreSQL. In the worker.

Executors write a batch into a staging table; rows that Spark repeats occur twice, with the same number. Then one
transaction advances the offsets in the database, which fails if another task has done so, and merges the table into the
target: a batch is written once, or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from headrace.api import arrow
from headrace.api.errors import ConfigError, ConnectError, DataError
from headrace.api.frame_json import quoted
from headrace.connectors.common.batch_log import FencedError
from headrace.connectors.common.jdbc_connection import JdbcConnection, jdbc_connection
from headrace.connectors.common.spark_reader import OPTIONS, attribute_errors_to
from headrace.connectors.spark_sink.postgres_statements import (
    DELETED,
    EXISTS,
    MAY_CREATE,
    MISSING_RIGHTS,
    ROW,
    STAGING_TABLES,
    Merge,
    OffsetsTable,
    staging_prefix,
)
from headrace.connectors.spark_sink.sink_frame import reporting_bad_values, rows, states_frame
from headrace.connectors.spark_sink.sink_target import ROW as TASKS_ROW
from headrace.connectors.spark_sink.spark_sink_config import (
    AUTO_CREATE,
    INSERT_MODE,
    KEY_FIELDS,
    OFFSETS_TABLE,
    TABLE,
    UPSERT,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batch = Mapping[str, Any]
_NUMBERS: Final = ("byte", "short", "integer", "long", "float", "double", "decimal", "boolean")


def take_over(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> DataFrame:
    """`SinkTarget.take_over`."""
    offsets, found = OffsetsTable(settings[OFFSETS_TABLE]), []
    with jdbc_connection(spark, _options(settings)) as connection:
        connection.execute(offsets.create)
        for place in json.loads(settings["batches"]):
            parameters = (*_place(settings, place), place["topic_id"], settings[TABLE])
            ((next, number),) = connection.rows(offsets.take_over, parameters, 2)
            found.append((place["partition"], next, number))
            _drop_leftovers(connection, staging_prefix(*_place(settings, place)))
    return states_frame(spark, found)


def write(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> None:
    """Write batches of one topic. Raise FencedError if another task has one of their partitions."""
    assert frame is not None
    batches = json.loads(settings["batches"])
    chosen, keys = _rows(frame, settings)
    staging = f"{staging_prefix(*_place(settings, batches[0]))}{batches[0]['number']}"
    names = [name for name in chosen.columns if name not in (ROW, DELETED)]
    merge = Merge(settings[TABLE], staging, names, keys)
    with jdbc_connection(spark, _options(settings)) as connection:
        exists = _exists(connection, settings)
        try:
            connection.execute(merge.drop_staging)
            if exists:
                connection.execute(merge.create_staging)
                chosen = _cast(chosen, _staging(spark, settings, staging), settings[TABLE])
            options = {**_options(settings), "dbtable": staging}
            with reporting_bad_values(frame, settings):
                chosen.write.format("jdbc").options(**options).mode("append").save()
            _commit(connection, settings, batches, merge, create=not exists)
        except BaseException:
            with suppress(ConnectError):
                connection.execute(merge.drop_staging)
            raise


def check(spark: SparkSession, settings: Mapping[str, str]) -> None:
    """Raise ConfigError for what would make `write` fail: a missing table, key or privilege."""
    upsert = settings[INSERT_MODE] == UPSERT
    with jdbc_connection(spark, _options(settings)) as connection:
        if connection.rows(MAY_CREATE, [], 1) != [(True,)]:
            raise ConfigError(
                "The database's user may not create tables in its schema, as each batch needs one for its way there",
                f"{OPTIONS}user",
            )
        if not _exists(connection, settings):
            return
        rights = "SELECT,INSERT,UPDATE,DELETE" if upsert else "SELECT,INSERT"
        missing = [right for (right,) in connection.rows(MISSING_RIGHTS, [rights, *[settings[TABLE]] * 2], 1)]
        if missing:
            raise ConfigError.invalid(
                TABLE, settings[TABLE], f"the database's user lacks {' and '.join(missing)} on it"
            )
        if upsert:
            with attribute_errors_to(KEY_FIELDS, settings[KEY_FIELDS]):
                connection.rows(Merge(settings[TABLE], "", (), settings[KEY_FIELDS].split(",")).explain_keys, [], 1)


def prepare_rewind(spark: SparkSession, settings: Mapping[str, str]) -> None:
    """`sink_target.before_change`."""
    offsets = OffsetsTable(settings[OFFSETS_TABLE])
    with jdbc_connection(spark, _options(settings)) as connection:
        connection.execute(offsets.create)
        for place in json.loads(settings["batches"]):
            connection.execute(offsets.claim, [place["token"], *_place(settings, place)])


def rewind(spark: SparkSession, settings: Mapping[str, str]) -> None:
    """`sink_target.after_change`: the rows that are written again exist already, and stay."""
    offsets = OffsetsTable(settings[OFFSETS_TABLE])
    with jdbc_connection(spark, _options(settings)) as connection, connection.transaction():
        for place in json.loads(settings["batches"]):
            where = _place(settings, place)
            known = connection.rows(offsets.number, where, 1)
            if known and connection.execute(offsets.rewind, [place["to"], *where, place["token"]]) != 1:
                raise FencedError(f"{where[2]}-{where[3]}: another task has taken the partition over meanwhile")


def _commit(
    connection: JdbcConnection, settings: Mapping[str, str], batches: Sequence[Batch], merge: Merge, *, create: bool
) -> None:
    offsets = OffsetsTable(settings[OFFSETS_TABLE])
    with connection.transaction():
        for batch in batches:
            parameters = [batch["last"] + 1, *_place(settings, batch), batch["number"]]
            if connection.execute(offsets.advance, parameters) != 1:
                raise FencedError(
                    f"{batch['topic']}-{batch['partition']}: another task writes this partition to {merge.target}, "
                    f"or {offsets.name} was changed"
                )
        for statement in (*(merge.create_target if create else ()), *merge.merge, merge.drop_staging):
            connection.execute(statement)


def _exists(connection: JdbcConnection, settings: Mapping[str, str]) -> bool:
    ((exists,),) = connection.rows(EXISTS, [settings[TABLE]], 1)
    if not exists and settings[AUTO_CREATE] != "true":
        raise ConfigError(f"There is no table {settings[TABLE]}: create it, or set {AUTO_CREATE}=true", TABLE)
    return bool(exists)


def _drop_leftovers(connection: JdbcConnection, prefix: str) -> None:
    """Drop the staging tables of writers that can commit no more."""
    for (name,) in connection.rows(STAGING_TABLES, [prefix], 1):
        connection.execute(f"DROP TABLE IF EXISTS {name}")


def _rows(frame: DataFrame, settings: Mapping[str, str]) -> tuple[DataFrame, Sequence[str]]:
    """Return the rows for the staging table, and the columns of the key."""
    more = [f"`{TASKS_ROW}` AS {ROW}", f"{arrow.VALUE} IS NULL AS {DELETED}"]
    if settings[INSERT_MODE] != UPSERT:
        return rows(frame, settings, more), ()
    keys = settings[KEY_FIELDS].split(",")
    chosen = rows(frame, settings, [*_keys(frame, keys), *more])
    # The record's key takes precedence over fields of the value.
    count = len(chosen.columns) - len(more) - len(keys)
    numbered = chosen.toDF(*(f"c{index}" for index in range(len(chosen.columns))))
    kept = [
        f"c{index} AS {quoted(name)}" for index, name in enumerate(chosen.columns) if index >= count or name not in keys
    ]
    return numbered.selectExpr(*kept), keys


def _keys(frame: DataFrame, keys: Sequence[str]) -> list[str]:
    kind = frame.schema[arrow.KEY].dataType
    if kind.typeName() == "struct":
        missing = [key for key in keys if key not in kind.fieldNames()]  # type: ignore[attr-defined]
        if missing:
            raise DataError(f"Keys of records have no field {missing[0]}, which {KEY_FIELDS} names")
        return [f"{arrow.KEY}.{quoted(key)} AS {quoted(key)}" for key in keys]
    if len(keys) > 1:
        raise DataError(f"{KEY_FIELDS} names {len(keys)} columns, but keys of records are no structs")
    if kind.typeName() == "void":
        raise DataError(f"Records have no keys, but {INSERT_MODE}={UPSERT} needs them")
    return [f"{arrow.KEY} AS {quoted(keys[0])}"]


def _cast(chosen: DataFrame, target: DataFrame, table: str) -> DataFrame:
    """Cast to the types of the target, which Spark does not do by itself."""
    wanted = {field.name: field.dataType.simpleString() for field in target.schema}
    casts = []
    for field in chosen.schema:
        name, kind = quoted(field.name), field.dataType.simpleString()
        if field.dataType.typeName() in ("struct", "map") or kind.startswith("array<struct"):
            name_cast = f"to_json({name})"
        elif kind == wanted.get(field.name, kind) or {field.dataType.typeName(), wanted[field.name][:7]} == {"decimal"}:
            # Decimals are left to the database: Spark takes one without a scale for one with 18 digits.
            name_cast = name
        elif wanted[field.name].startswith("timestamp") and field.dataType.typeName() in _NUMBERS:
            # Spark would take them for seconds; Connect's Time is milliseconds of a day.
            raise DataError(
                f"Column {field.name} of {table} holds times, and records have numbers there ({kind}): convert "
                f"them before, such as with TimestampConverter"
            )
        else:
            name_cast = f"CAST({name} AS {wanted[field.name]})"
        casts.append(f"{name_cast} AS {name}")
    return chosen.selectExpr(*casts)


def _staging(spark: SparkSession, settings: Mapping[str, str], staging: str) -> DataFrame:
    return spark.read.format("jdbc").options(**{**_options(settings), "dbtable": staging}).load()


def _options(settings: Mapping[str, str]) -> dict[str, str]:
    # Text goes into columns of any type that can be read from it, as jsonb and uuid.
    defaults = {"driver": "org.postgresql.Driver", "stringtype": "unspecified"}
    return {**defaults, **json.loads(settings["options"]), "dbtable": settings[TABLE]}


def _place(settings: Mapping[str, str], place: Batch) -> tuple[str, str, str, int]:
    return settings["connector"], settings[TABLE], settings["topic"], place["partition"]
