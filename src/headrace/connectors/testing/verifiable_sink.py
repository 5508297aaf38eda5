# SPDX-License-Identifier: Apache-2.0
"""VerifiableSink: logs every record when it is put and again when it is flushed, to test clusters."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import orjson

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef
from headrace.api.connector import Task
from headrace.api.errors import ConnectError
from headrace.api.java_string import java_string
from headrace.api.record import SinkRecord
from headrace.api.sink import OffsetAndMetadata, SinkConnector, SinkTask, TopicPartition

log = logging.getLogger(__name__)

ID_CONFIG: Final = "id"


class VerifiableSinkConnector(SinkConnector):
    """As many tasks as allowed, each with an `id` of its own (Java: `VerifiableSinkConnector`)."""

    def version(self) -> str:
        return KAFKA_VERSION

    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)

    def task_class(self) -> type[Task]:
        return VerifiableSinkTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{**self._props, ID_CONFIG: str(task)} for task in range(max_tasks)]

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return ConfigDef()

    def alter_offsets(self, connector_config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Accept any offsets: it keeps none."""
        return True


class VerifiableSinkTask(SinkTask):
    """Logs a line of JSON for each record, and the same one with `flushed` before its offset is committed.

    Meant for records of VerifiableSource: `task` is the key, `seqno` the value. (Java prints them. The output of a
    task's process stays with Spark; the worker logs its log lines.)
    """

    def version(self) -> str:
        return KAFKA_VERSION

    def __init__(self) -> None:
        self._unflushed: dict[TopicPartition, list[dict[str, Any]]] = defaultdict(list)

    def start(self, props: Mapping[str, str]) -> None:
        self._name = props.get("name", "")
        text = props.get(ID_CONFIG, "")
        if not text.isdigit():
            raise ConnectError(f"VerifiableSink's tasks need a number as {ID_CONFIG}, not {text!r}")
        self._id = int(text)

    def put(self, records: Collection[SinkRecord]) -> None:
        now_ms = time.time_ns() // 1_000_000
        lines = []
        for record in records:
            line = {
                "name": self._name,
                "task": record.key,
                "sinkTask": self._id,
                "topic": record.topic,
                "time_ms": now_ms,
                "seqno": record.value,
                "offset": record.kafka_offset,
            }
            # By the partition that it was consumed from, as flush gets it.
            where = TopicPartition(record.original_topic, record.original_kafka_partition or 0)
            self._unflushed[where].append(line)
            lines.append(line)
        _log_lines(lines)

    def flush(self, current_offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        now_ms = time.time_ns() // 1_000_000
        for where in current_offsets:
            _log_lines([{**line, "time_ms": now_ms, "flushed": True} for line in self._unflushed.pop(where, ())])

    def close(self, partitions: Collection[TopicPartition]) -> None:
        for where in partitions:
            self._unflushed.pop(where, None)

    def stop(self) -> None:
        pass


def _log_lines(lines: Sequence[Mapping[str, Any]]) -> None:
    for line in lines:
        log.info("%s", orjson.dumps(line, default=_shown).decode())


def _shown(value: Any) -> str:
    return java_string(None, value)
