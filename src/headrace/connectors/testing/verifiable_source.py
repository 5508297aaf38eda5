# SPDX-License-Identifier: Apache-2.0
"""VerifiableSource: numbered records at a given rate, to test clusters."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.connector import Task
from headrace.api.errors import ConnectError
from headrace.api.record import SourceRecord
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.api.validators import TopicName
from headrace.connectors.testing.numbered_source import (
    ID_CONFIG,
    LONGEST_WAIT,
    NumberedTask,
    NumberedTasksConnector,
    Throttle,
)

log = logging.getLogger(__name__)

TOPIC_CONFIG: Final = "topic"
THROUGHPUT_CONFIG: Final = "throughput"
COMPLETE_RECORD_DATA_CONFIG: Final = "complete.record.data"
ID_FIELD: Final = "id"
SEQNO_FIELD: Final = "seqno"

CONFIG_DEF: Final = (
    ConfigDef()
    .define(
        TOPIC_CONFIG,
        Type.STRING,
        importance=Importance.HIGH,
        validator=TopicName(),
        doc="The topic to publish data to.",
    )
    .define(
        THROUGHPUT_CONFIG,
        Type.LONG,
        -1,
        importance=Importance.MEDIUM,
        doc="Records per second of each task; below zero for as many as possible.",
    )
    .define(
        COMPLETE_RECORD_DATA_CONFIG,
        Type.BOOLEAN,
        False,
        importance=Importance.LOW,
        doc="Whether values are structs with name, task, topic, time_ms and seqno, instead of the seqno alone.",
    )
)

COMPLETE_VALUE_SCHEMA: Final = (
    SchemaBuilder.struct()
    .field("name", Schema.STRING)
    .field("task", Schema.INT32)
    .field("topic", Schema.STRING)
    .field("time_ms", Schema.INT64)
    .field("seqno", Schema.INT64)
    .build()
)

_BATCH: Final = 500


class VerifiableSourceConnector(NumberedTasksConnector):
    """Java: `VerifiableSourceConnector`."""

    def task_class(self) -> type[Task]:
        return VerifiableSourceTask

    def config(self) -> ConfigDef:
        return CONFIG_DEF

    def alter_offsets(
        self, connector_config: Mapping[str, str], offsets: Iterable[tuple[dict[str, Any], dict[str, Any] | None]]
    ) -> bool:
        """Refuse offsets that no task can continue from. A reset (None) is allowed for any partition."""
        for partition, offset in offsets:
            if offset is not None:
                if _next_seqno(offset) < 1:
                    raise ConnectError(f"The value for the '{SEQNO_FIELD}' key in the offset is negative: {offset}")
                if ID_FIELD not in partition:
                    raise ConnectError(f"Partition objects should contain the key '{ID_FIELD}', got {partition}")
        return True


class VerifiableSourceTask(NumberedTask):
    """Records numbered from 0 without a gap: the task's id is the key, the number is value and source offset.

    Polls all records that have become due, so that a slow commit does not lower the rate. Unlike Java's it prints no
    line per record: the topic can be read.
    """

    def start(self, props: Mapping[str, str]) -> None:
        config = CONFIG_DEF.parse(props)
        self._name = props.get("name", "")
        self._topic: str = config[TOPIC_CONFIG]
        self._complete: bool = config[COMPLETE_RECORD_DATA_CONFIG]
        self._id = _task_number(props.get(ID_CONFIG))
        self._partition = {ID_FIELD: self._id}
        self._seqno = _next_seqno(self.context.offset_storage_reader.offset(self._partition))
        self._throttle = Throttle(config[THROUGHPUT_CONFIG], time.monotonic())
        log.info(
            "task %s-%d produces to topic %s, resuming from seqno %d", self._name, self._id, self._topic, self._seqno
        )

    def poll(self) -> list[SourceRecord] | None:
        count = self._due()
        if not count:
            return None
        now_ms = time.time_ns() // 1_000_000
        first, self._seqno = self._seqno, self._seqno + count
        self._throttle.sent(count)
        return [self._record(seqno, now_ms) for seqno in range(first, self._seqno)]

    def _due(self) -> int:
        """Return the number of records due, after a short wait if there are none."""
        now = time.monotonic()
        count = self._throttle.due(now, _BATCH)
        if not count and not self._wait.wait(min(self._throttle.wait(now), LONGEST_WAIT)) and not self._wait.woken:
            count = self._throttle.due(time.monotonic(), _BATCH)
        return count

    def _record(self, seqno: int, now_ms: int) -> SourceRecord:
        value: Any = self._complete_value(seqno, now_ms) if self._complete else seqno
        return SourceRecord(
            self._partition,
            {SEQNO_FIELD: seqno},
            self._topic,
            None,
            Schema.INT32,
            self._id,
            COMPLETE_VALUE_SCHEMA if self._complete else Schema.INT64,
            value,
        )

    def _complete_value(self, seqno: int, now_ms: int) -> Struct:
        fields = {"name": self._name, "task": self._id, "topic": self._topic, "time_ms": now_ms, "seqno": seqno}
        return Struct(COMPLETE_VALUE_SCHEMA, fields)


def _task_number(text: str | None) -> int:
    if text is None or not text.isdecimal():
        raise ConnectError(f"Invalid VerifiableSourceTask configuration: {ID_CONFIG} is {text!r}, not a number")
    return int(text)


def _next_seqno(offset: Mapping[str, Any] | None) -> int:
    if offset is None:
        return 0
    seqno = offset.get(SEQNO_FIELD)
    if not isinstance(seqno, int) or isinstance(seqno, bool):
        raise ConnectError(f"The value for the '{SEQNO_FIELD}' key in the offset should be an integer: {seqno!r}")
    return seqno + 1
