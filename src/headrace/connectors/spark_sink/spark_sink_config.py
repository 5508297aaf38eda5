# SPDX-License-Identifier: Apache-2.0
"""The properties of SparkSink, and its settings made of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.protected_files import ensure_writable, write_refusal
from headrace.api.validators import NonEmptyString, Nullable, Range, ValidList, ValidString, WritablePath
from headrace.connectors.common.spark_config import parse_checked
from headrace.connectors.common.spark_reader import FORMAT, OPTIONS, spark_options
from headrace.connectors.spark_sink.batch_buffer import Rotation

PATH: Final = "path"
TABLE: Final = "table"
INCLUDE: Final = "include.columns"
VALUE_SCHEMA: Final = "value.schema"
PARTITION_BY: Final = "partition.by"
NULLS: Final = "behavior.on.null.values"
INSERT_MODE: Final = "insert.mode"
KEY_FIELDS: Final = "pk.fields"
AUTO_CREATE: Final = "auto.create"
OFFSETS_TABLE: Final = "offsets.table"
FLUSH_SIZE: Final = "flush.size"
ROTATE: Final = "rotate.interval.ms"
MEMORY: Final = "buffer.memory"
MAX_RETRIES: Final = "max.retries"
RETRY_BACKOFF: Final = "retry.backoff.ms"

METADATA: Final = ("key", "topic", "partition", "offset", "timestamp")
"""Metadata of a record that a row may contain; the columns are named ``kafka_key`` and so on."""
FILE_FORMATS: Final = frozenset({"parquet", "json", "csv", "text", "orc", "avro", "xml"})
DELTA: Final = "delta"
_KINDS: Final = {"jdbc": "postgres", DELTA: "delta"}
UPSERT: Final = "upsert"
_TOPIC: Final = "${topic}"

CONFIG_DEF: Final = (
    ConfigDef()
    .define(
        FORMAT,
        Type.STRING,
        importance=Importance.HIGH,
        validator=NonEmptyString(),
        doc="The format that Spark writes: parquet, json, csv, text, orc, avro, xml, jdbc (PostgreSQL), or that of a "
        "package in the worker's spark.jars.packages, such as delta. Its options have the prefix spark.option.",
    )
    .define(
        PATH,
        Type.STRING,
        None,
        importance=Importance.HIGH,
        validator=WritablePath(uri=True),
        doc="The directory to write to, as a path or URI that Spark understands. ${topic} stands for the topic that "
        "a record was read from.",
    )
    .define(
        TABLE,
        Type.STRING,
        None,
        importance=Importance.HIGH,
        doc="The table to write to, for jdbc and for formats with a catalog. ${topic} stands for the topic that a "
        "record was read from.",
    )
    .define(
        INCLUDE,
        Type.LIST,
        "",
        validator=ValidList(*METADATA),
        doc="Metadata of the record to add to its row, in columns named kafka_key, kafka_topic, kafka_partition, "
        "kafka_offset and kafka_timestamp.",
    )
    .define(
        VALUE_SCHEMA,
        Type.STRING,
        None,
        doc="The columns to parse from values that are JSON text, as Spark's DDL: id BIGINT, region STRING.",
    )
    .define(
        PARTITION_BY,
        Type.STRING,
        None,
        doc="SQL expressions, separated by commas, whose values name the directories of the files: date(ts) AS day, "
        "region. They can use the value's columns and all columns of include.columns.",
    )
    .define(
        NULLS,
        Type.STRING,
        "fail",
        validator=ValidString("fail", "ignore", "write"),
        doc="Action on records without a value: fail fails the task, ignore skips them, write writes a row of nulls. "
        "With insert.mode=upsert they delete the row of their key.",
    )
    .define(
        INSERT_MODE,
        Type.STRING,
        "insert",
        validator=ValidString("insert", UPSERT),
        doc="For jdbc: insert adds a row for each record; upsert keeps for each key the row of its latest record.",
    )
    .define(
        KEY_FIELDS,
        Type.LIST,
        "",
        doc="For upsert: the columns of the table's primary key, which are the fields of the record's key. A key "
        "that is not a struct has one column.",
    )
    .define(
        AUTO_CREATE,
        Type.BOOLEAN,
        "false",
        doc="For jdbc: whether a missing table is created, with the columns of the first batch.",
    )
    .define(
        OFFSETS_TABLE,
        Type.STRING,
        "headrace_offsets",
        validator=NonEmptyString(),
        importance=Importance.LOW,
        doc="For jdbc: the table that stores the written offsets, in the same transactions. It is created if "
        "necessary.",
    )
    .define(
        FLUSH_SIZE,
        Type.INT,
        "100000",
        validator=Nullable(Range(1)),
        doc="The approximate number of records of one partition that are written at once.",
    )
    .define(
        ROTATE,
        Type.LONG,
        "60000",
        validator=Nullable(Range(1)),
        doc="The time in ms after which the collected records of a partition are written, even if there are few.",
    )
    .define(
        MEMORY,
        Type.LONG,
        str(64 << 20),
        validator=Nullable(Range(1)),
        importance=Importance.LOW,
        doc="The most bytes of records that a task collects before it writes.",
    )
    .define(
        MAX_RETRIES,
        Type.INT,
        "10",
        validator=Nullable(Range(-1)),
        doc="How often writing a batch is retried after a temporary error before the task fails; -1 is without limit.",
    )
    .define(RETRY_BACKOFF, Type.INT, "3000", validator=Nullable(Range(0)), doc="The time in ms before each retry.")
)


@dataclass(frozen=True, slots=True)
class SinkSettings:
    """The checked properties of a task."""

    connector: str
    format: str
    path: str | None
    table: str | None
    shape: Mapping[str, str]
    options: Mapping[str, str]
    nulls: str
    rotation: Rotation
    retries: int
    backoff_ms: int

    @staticmethod
    def of(props: Mapping[str, str]) -> SinkSettings:
        """Parse properties. Raise ConfigError for missing, invalid or conflicting ones."""
        values = parse_checked(CONFIG_DEF, props, lambda values: find_conflicts(values, props))
        return SinkSettings(
            connector=props["name"],
            format=values[FORMAT],
            path=values[PATH],
            table=values[TABLE],
            shape=_shape(values),
            options=spark_options(props),
            nulls="write" if values[INSERT_MODE] == UPSERT else values[NULLS],
            rotation=Rotation(values[FLUSH_SIZE], values[ROTATE] / 1000, values[MEMORY]),
            retries=values[MAX_RETRIES],
            backoff_ms=values[RETRY_BACKOFF],
        )

    @property
    def module(self) -> str:
        """The module with the frame functions for its kind of target."""
        kind = "files" if self.format in FILE_FORMATS else _KINDS.get(self.format, "table")
        return f"headrace.connectors.spark_sink.spark_sink_{kind}"

    @property
    def one_by_one(self) -> bool:
        """True if each partition is written separately."""
        return self.format in FILE_FORMATS or self.format == DELTA

    @property
    def by_topic(self) -> bool:
        """True if each topic has a path of its own."""
        return _TOPIC in f"{self.path}{self.table}"

    @property
    def rewinds(self) -> bool:
        """True if the target's offsets can be rewound."""
        return self.format in FILE_FORMATS or self.format == "jdbc"

    def job(self, topic: str, batches: Sequence[Mapping[str, Any]]) -> dict[str, str]:
        """Return the settings of a frame job."""
        return {
            "connector": self.connector,
            "topic": topic,
            FORMAT: self.format,
            "options": json.dumps(dict(self.options)),
            "batches": json.dumps(list(batches)),
            **({PATH: self._place(topic)} if self.path is not None else {}),
            **({TABLE: self.table.replace(_TOPIC, topic)} if self.table is not None else {}),
            **self.shape,
        }

    def _place(self, topic: str) -> str:
        """Return the path for a topic. Raise ConfigError if its name or links lead to the worker's own files."""
        place = (self.path or "").replace(_TOPIC, topic)
        ensure_writable(PATH, place, uri=True)
        return place


def _shape(parsed: Mapping[str, Any]) -> dict[str, str]:
    shape = {name: ",".join(parsed[name]) for name in (INCLUDE, KEY_FIELDS)}
    shape |= {name: parsed[name] for name in (INSERT_MODE, OFFSETS_TABLE)}
    shape[AUTO_CREATE] = str(parsed[AUTO_CREATE]).lower()
    return shape | {name: parsed[name] for name in (VALUE_SCHEMA, PARTITION_BY) if parsed[name]}


def find_conflicts(parsed: Mapping[str, Any], props: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return conflicting properties: the name of one of them, and the reason."""
    format, found = parsed[FORMAT], list(_protected(parsed, props))
    if not format:
        return []  # a missing format is an error by itself
    if format in FILE_FORMATS:
        if not parsed[PATH]:
            found.append((PATH, f"{FORMAT}={format} needs the directory to write to"))
        if parsed[TABLE]:
            found.append((TABLE, f"{FORMAT}={format} writes files to {PATH}, not a table"))
    elif parsed[PARTITION_BY]:
        found.append((PARTITION_BY, f"only files are partitioned by it, and {FORMAT}={format} writes none of its own"))
    if format == "jdbc":
        found += _jdbc_contradictions(parsed, props)
    elif parsed[INSERT_MODE] == UPSERT:
        found.append((INSERT_MODE, f"only {FORMAT}=jdbc can update rows"))
    elif format not in FILE_FORMATS and bool(parsed[PATH]) == bool(parsed[TABLE]):
        found.append((PATH, f"{FORMAT}={format} needs either {PATH} or {TABLE}"))
    return found


def _protected(parsed: Mapping[str, Any], props: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Return conflicts of options and of tables named by a path that lead to the worker's own files."""
    places = [(name, text) for name, text in props.items() if name.lower() == f"{OPTIONS}{PATH}"]
    places += [(TABLE, quoted) for quoted in re.findall("`([^`]*)`", parsed[TABLE] or "")]
    for name, place in places:
        reason = write_refusal(place, uri=True)
        if reason is not None:
            yield name, reason


def _jdbc_contradictions(parsed: Mapping[str, Any], props: Mapping[str, str]) -> list[tuple[str, str]]:
    found = []
    if not parsed[TABLE]:
        found.append((TABLE, f"{FORMAT}=jdbc needs the table to write to"))
    if not props.get(f"{OPTIONS}url", "").startswith("jdbc:postgresql:"):
        found.append((FORMAT, f"jdbc writes to PostgreSQL; give {OPTIONS}url=jdbc:postgresql://host/database"))
    if parsed[INSERT_MODE] == UPSERT and not parsed[KEY_FIELDS]:
        found.append((KEY_FIELDS, f"{INSERT_MODE}={UPSERT} needs the columns of the table's primary key"))
    return found
