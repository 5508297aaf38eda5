# SPDX-License-Identifier: Apache-2.0
"""The properties of SparkFileSource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headrace.api.config_def import NO_DEFAULT, ConfigDef, Importance, Type
from headrace.api.protected_files import write_refusal
from headrace.api.validators import NonEmptyString, Nullable, Range, ValidString, WritablePath
from headrace.connectors.common.spark_config import (
    BATCH_ROWS,
    KEY_COLUMNS,
    PARTITION_COUNT,
    PATH,
    POLL_INTERVAL,
    RETRY_TIMEOUT,
    TOPIC,
    shared,
)
from headrace.connectors.common.spark_reader import FORMAT, SCHEMA
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
    .define_key(shared(TOPIC))
    .define_key(
        shared(
            PATH,
            "The directory to watch, as a path or URI that Spark understands.",
            default=NO_DEFAULT,
            validator=NonEmptyString(),
        )
    )
    .define_key(
        shared(
            FORMAT,
            "The files' format: csv, json, parquet, orc, avro, xml, text, binaryFile, or that of a package in the "
            "worker's spark.jars.packages. Its options are given as spark.option.<name>.",
            default=NO_DEFAULT,
        )
    )
    .define_key(
        shared(
            SCHEMA,
            "The files' columns, as Spark's DDL (id BIGINT, region STRING). By default Spark infers them from each "
            "file.",
        )
    )
    .define(
        EVOLUTION,
        Type.STRING,
        ADD,
        validator=ValidString(ADD, FAIL, IGNORE),
        doc="Action on a file with other columns than those before it: add adds new columns, fail fails the task, "
        "ignore drops new columns. Missing columns are null. Columns of another type are cast to the former one; "
        "add also widens numbers and dates.",
    )
    .define_key(shared(KEY_COLUMNS))
    .define_key(
        shared(
            PARTITION_COUNT,
            "The number of splits into which the files are divided by their paths. A task reads one or more splits; "
            "only the files of one split are read in order.",
            default=1,
            validator=Nullable(Range.at_least(1)),
        )
    )
    .define_key(shared(BATCH_ROWS, "The most rows that a poll returns."))
    .define_key(
        shared(
            POLL_INTERVAL,
            "The time in ms before the directory is listed again when all files are read.",
        )
    )
    .define(
        SETTLE,
        Type.LONG,
        "5000",
        validator=Nullable(Range.at_least(0)),
        doc="The time in ms for which a file has to be unchanged before it is read. Use 0 if files appear as a "
        "whole, by a rename or in an object store.",
    )
    .define(
        WINDOW,
        Type.LONG,
        "3600000",
        importance=Importance.LOW,
        validator=Nullable(Range.at_least(0)),
        doc="The time in ms by which a file that appears late may be older than the latest file that was read.",
    )
    .define(
        MOST,
        Type.INT,
        "2000",
        importance=Importance.LOW,
        validator=Nullable(Range.at_least(1)),
        doc="The most files of late.files.ms that are kept in source offsets, so that these stay small.",
    )
    .define(
        ACTION,
        Type.STRING,
        KEEP,
        validator=ValidString(KEEP, DELETE, MOVE),
        doc="Action on files that were read, after their offset is committed.",
    )
    .define(
        DIRECTORY,
        Type.STRING,
        None,
        validator=WritablePath(uri=True),
        doc="The directory to which files are moved with completed.action=move; not below the path.",
    )
    .define_key(
        shared(
            RETRY_TIMEOUT,
            "The time in ms for which reading files is retried before the task fails; -1 is without limit.",
        )
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
