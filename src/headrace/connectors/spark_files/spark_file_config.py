# SPDX-License-Identifier: Apache-2.0
"""The properties of SparkFileSource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.protected_files import write_refusal
from headrace.api.validators import NonEmptyString, Nullable, Range, ValidString, WritablePath
from headrace.connectors.common.spark_reader import (
    BATCH_ROWS,
    FORMAT,
    KEY_COLUMNS,
    PARTITION_COUNT,
    PATH,
    POLL_INTERVAL,
    RETRY_TIMEOUT,
    SCHEMA,
    TOPIC,
)
from headrace.connectors.spark_files.file_columns import ADD, FAIL, IGNORE

EVOLUTION: Final = "schema.evolution"
SETTLE: Final = "file.settle.ms"
WINDOW: Final = "late.files.ms"
MOST: Final = "late.files.max"
ACTION: Final = "completed.action"
DIRECTORY: Final = "completed.directory"
KEEP: Final = "keep"
DELETE: Final = "delete"
MOVE: Final = "move"
ONE_COLUMN: Final[Mapping[str, str]] = {"text": "value", "binaryfile": "content"}
"""Formats whose records are the values of one column."""

CONFIG_DEF: Final = (
    ConfigDef()
    .define(
        TOPIC, Type.STRING, importance=Importance.HIGH, validator=NonEmptyString(), doc="The topic to publish rows to."
    )
    .define(
        PATH,
        Type.STRING,
        importance=Importance.HIGH,
        validator=NonEmptyString(),
        doc="The directory to watch, as a path or URI that Spark understands.",
    )
    .define(
        FORMAT,
        Type.STRING,
        importance=Importance.HIGH,
        validator=NonEmptyString(),
        doc="The files' format: csv, json, parquet, orc, avro, xml, text, binaryFile, or that of a package in the "
        "worker's spark.jars.packages. Its options are given as spark.option.<name>.",
    )
    .define(
        SCHEMA,
        Type.STRING,
        None,
        doc="The files' columns, as Spark's DDL (id BIGINT, region STRING). Not given, Spark looks at each file.",
    )
    .define(
        EVOLUTION,
        Type.STRING,
        ADD,
        validator=ValidString(ADD, FAIL, IGNORE),
        doc="What becomes of a file with other columns than those before it: new ones are added, the task fails, or "
        "new ones are left out. Missing columns are null. Those of another type are cast to the former one, but for "
        "numbers that need more room, and get it where columns are added.",
    )
    .define(
        KEY_COLUMNS,
        Type.LIST,
        "",
        doc="The columns that make the record's key: the value of one, or a struct of several.",
    )
    .define(
        PARTITION_COUNT,
        Type.INT,
        "1",
        validator=Nullable(Range.at_least(1)),
        doc="In how many splits the files are divided by their paths. A task reads one or more of them; in order are "
        "only the files of one split.",
    )
    .define(
        BATCH_ROWS,
        Type.INT,
        "10000",
        validator=Nullable(Range.at_least(1)),
        doc="How many rows a poll returns at most.",
    )
    .define(
        POLL_INTERVAL,
        Type.LONG,
        "5000",
        validator=Nullable(Range.at_least(1)),
        doc="How many milliseconds to wait before the directory is listed again when all files are read.",
    )
    .define(
        SETTLE,
        Type.LONG,
        "5000",
        validator=Nullable(Range.at_least(0)),
        doc="For how many milliseconds a file has to be unchanged before it is read. 0 is right where files appear "
        "whole, by a rename or in an object store.",
    )
    .define(
        WINDOW,
        Type.LONG,
        "3600000",
        importance=Importance.LOW,
        validator=Nullable(Range.at_least(0)),
        doc="How many milliseconds older than the latest file that is read a file may be that turns up only now.",
    )
    .define(
        MOST,
        Type.INT,
        "2000",
        importance=Importance.LOW,
        validator=Nullable(Range.at_least(1)),
        doc="How many files of late.files.ms are remembered at most, so that source offsets stay small.",
    )
    .define(
        ACTION,
        Type.STRING,
        KEEP,
        validator=ValidString(KEEP, DELETE, MOVE),
        doc="What becomes of files after the offset that says that they were read is committed.",
    )
    .define(
        DIRECTORY,
        Type.STRING,
        None,
        validator=WritablePath(uri=True),
        doc="Where files are moved to with completed.action=move; not below the path.",
    )
    .define(
        RETRY_TIMEOUT,
        Type.LONG,
        "300000",
        validator=Nullable(Range.at_least(-1)),
        doc="For how many milliseconds files that cannot be read now are tried again before the task fails; -1 is "
        "without end.",
    )
)


def find_conflicts(parsed: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return conflicting properties: the name of one of them, and the reason."""
    action, directory, path = parsed[ACTION], parsed[DIRECTORY], parsed[PATH]
    reason = write_refusal(path, uri=True) if path and action in (DELETE, MOVE) else None
    if reason is not None:
        return [(PATH, reason)]
    if action == MOVE and not directory:
        return [(DIRECTORY, f"{ACTION}={MOVE} needs it")]
    if action == MOVE and path and f"{directory.rstrip('/')}/".startswith(f"{path.rstrip('/')}/"):
        return [(DIRECTORY, f"it is below {PATH}, so its files would be read again")]
    return []
