# SPDX-License-Identifier: Apache-2.0
"""SchemaSource: structs of one schema, or of two alternating versions of it, to test converters and registries."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.connector import Task
from headrace.api.errors import ConnectError
from headrace.api.record import SourceRecord
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.api.validators import NonEmptyString, Nullable, Range
from headrace.connectors.testing.numbered_source import (
    ID_CONFIG,
    LONGEST_WAIT,
    NumberedTask,
    NumberedTasksConnector,
    Throttle,
)

TOPIC_CONFIG: Final = "topic"
NUM_MSGS_CONFIG: Final = "num.messages"
THROUGHPUT_CONFIG: Final = "throughput"
MULTIPLE_SCHEMA_CONFIG: Final = "multiple.schema"
PARTITION_COUNT_CONFIG: Final = "partition.count"
SEQNO_FIELD: Final = "seqno"

CONFIG_DEF: Final = (
    ConfigDef()
    .define(TOPIC_CONFIG, Type.STRING, importance=Importance.HIGH, validator=NonEmptyString(),
            doc="The topic to publish data to; each task writes to the partition of its own number.")
    .define(NUM_MSGS_CONFIG, Type.LONG, importance=Importance.HIGH, validator=Nullable(Range.at_least(0)),
            doc="How many records each task writes after a start.")
    .define(THROUGHPUT_CONFIG, Type.LONG, -1, importance=Importance.MEDIUM,
            doc="Records per second of each task; below zero for as many as possible.")
    .define(MULTIPLE_SCHEMA_CONFIG, Type.BOOLEAN, False, importance=Importance.MEDIUM,
            doc="Whether every second record is of the schema's second version.")
    .define(PARTITION_COUNT_CONFIG, Type.INT, 1, importance=Importance.MEDIUM, validator=Nullable(Range.at_least(1)),
            doc="The field 'partitioning' is the record's number modulo this.")
)  # fmt: skip


def _value_schema(version: int) -> Schema:
    builder = SchemaBuilder.struct().name("record").version(version).field("boolean", Schema.BOOLEAN)
    builder.field("int", Schema.INT32).field("long", Schema.INT64).field("float", Schema.FLOAT32)
    builder.field("double", Schema.FLOAT64).field("partitioning", Schema.INT32)
    if version == 2:
        builder.field("string", SchemaBuilder.string().default_value("abc").build())
    return builder.field("id", Schema.INT32).field(SEQNO_FIELD, Schema.INT64).build()


VALUE_SCHEMA: Final = _value_schema(1)
VALUE_SCHEMA_2: Final = _value_schema(2)
_BATCH: Final = 500


class SchemaSourceConnector(NumberedTasksConnector):
    """Java: `SchemaSourceConnector`."""

    def task_class(self) -> type[Task]:
        return SchemaSourceTask

    def config(self) -> ConfigDef:
        return CONFIG_DEF

    def alter_offsets(
        self, connector_config: Mapping[str, str], offsets: Iterable[tuple[dict[str, Any], dict[str, Any] | None]]
    ) -> bool:
        """Refuse offsets that no task can continue from. A reset (None) is allowed for any partition."""
        for _, offset in offsets:
            if offset is not None:
                _next_seqno(offset)
        return True


class SchemaSourceTask(NumberedTask):
    """Records with key "key"; values hold the task's `id` and the record's `seqno`, which is also the offset."""

    def start(self, props: Mapping[str, str]) -> None:
        config = CONFIG_DEF.parse(props)
        self._topic: str = config[TOPIC_CONFIG]
        self._left: int = config[NUM_MSGS_CONFIG]
        self._multiple: bool = config[MULTIPLE_SCHEMA_CONFIG]
        self._partition_count: int = config[PARTITION_COUNT_CONFIG]
        self._id = _task_number(props.get(ID_CONFIG))
        self._partition = {ID_CONFIG: self._id}
        self._count = 0
        self._seqno = _next_seqno(self.context.offset_storage_reader.offset(self._partition))
        self._throttle = Throttle(config[THROUGHPUT_CONFIG], time.monotonic())

    def poll(self) -> list[SourceRecord] | None:
        now = time.monotonic()
        due = self._throttle.due(now, min(_BATCH, self._left))
        if not due:
            self._wait.wait(min(self._throttle.wait(now), LONGEST_WAIT) if self._left else LONGEST_WAIT)
            return None
        self._throttle.sent(due)
        self._left -= due
        return [self._next_record() for _ in range(due)]

    def _next_record(self) -> SourceRecord:
        schema = VALUE_SCHEMA_2 if self._multiple and self._count % 2 else VALUE_SCHEMA
        fields: dict[str, Any] = {"boolean": True, "int": 12, "long": 12, "float": 12.2, "double": 12.2}
        fields |= {"partitioning": self._seqno % self._partition_count, "id": self._id, SEQNO_FIELD: self._seqno}
        if schema is VALUE_SCHEMA_2:
            fields["string"] = "def"
        offset = {SEQNO_FIELD: self._seqno}
        self._count += 1
        self._seqno += 1
        value = Struct(schema, fields)
        return SourceRecord(self._partition, offset, self._topic, self._id, Schema.STRING, "key", schema, value)


def _task_number(text: str | None) -> int:
    if text is None or not text.isdigit():
        raise ConnectError(f"SchemaSource's tasks need a number as {ID_CONFIG}, not {text!r}")
    return int(text)


def _next_seqno(offset: Mapping[str, Any] | None) -> int:
    if offset is None:
        return 0
    seqno = offset.get(SEQNO_FIELD)
    if not isinstance(seqno, int) or isinstance(seqno, bool) or seqno < 0:
        raise ConnectError(f"Offset objects should hold a number from 0 on under '{SEQNO_FIELD}', got {offset}")
    return seqno + 1
