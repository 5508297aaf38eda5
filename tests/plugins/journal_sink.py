# SPDX-License-Identifier: Apache-2.0
"""A sink that writes down every call it gets, one JSON line each, and misbehaves as its configuration asks for.

`journal` is the file. What is to happen once happens as long as the file `once` is there, which is removed first.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from headrace.api import ConfigDef, ConnectError, RetriableError, SinkConnector, SinkRecord, SinkTask
from headrace.api.sink import OffsetAndMetadata, TopicPartition

Offsets = Mapping[TopicPartition, OffsetAndMetadata]


class JournalSinkConnector(SinkConnector):
    def version(self) -> str:
        return "1"

    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)

    def task_class(self) -> type[SinkTask]:
        return JournalSinkTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{**self._props, "id": str(n)} for n in range(max_tasks)]

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return ConfigDef()


class JournalSinkTask(SinkTask):
    def start(self, props: Mapping[str, str]) -> None:
        self._props = props
        self._id = int(props["id"])
        self._journal = Path(props["journal"])
        self._once = Path(props.get("once", "/nonexistent"))
        self._write("start")

    def open(self, partitions: Collection[TopicPartition]) -> None:
        self._write("open", partitions=sorted(partitions), assignment=sorted(self.context.assignment()))
        if "open.at" in self._props:
            self.context.offsets(dict.fromkeys(partitions, int(self._props["open.at"])))

    def close(self, partitions: Collection[TopicPartition]) -> None:
        self._write("close", partitions=sorted(partitions))

    def put(self, records: Collection[SinkRecord]) -> None:
        if not records:
            return
        self._write("put", records=[_shown(record) for record in records])
        if "sleep.s" in self._props and self._happens_once():
            time.sleep(float(self._props["sleep.s"]))
            self._write("awake")
        if "retry" in self._props and self._happens_once():
            self.context.timeout_ms(int(self._props["retry"]))
            raise RetriableError("not now")
        if "put.fails" in self._props and self._happens_once():
            raise ConnectError("never")
        if "die" in self._props and self._happens_once():
            os.kill(os.getpid(), signal.SIGKILL)
        if "rewind.to" in self._props and self._happens_once():
            self.context.offset(TopicPartition(*self._place(records)), int(self._props["rewind.to"]))
        if "pause.at" in self._props:
            self._pause(records)
        if "report" in self._props:
            self._report(records)
        if self._props.get("request.commit"):
            self.context.request_commit()

    def pre_commit(self, current_offsets: Offsets) -> Offsets:
        offsets = {where: each.offset for where, each in current_offsets.items()}
        self._write("pre_commit", offsets=[[*where, offset] for where, offset in sorted(offsets.items())])
        answer = self._props.get("pre.commit", "")
        if answer == "fails" and self._happens_once():
            raise ConnectError("pre_commit fails")
        change = {"ahead": 1000, "behind": -3}.get(answer, 0)
        return {where: OffsetAndMetadata(max(0, offset + change)) for where, offset in offsets.items()}

    def stop(self) -> None:
        self._write("stop")

    def _pause(self, records: Collection[SinkRecord]) -> None:
        where = TopicPartition(*self._place(records))
        if any(record.value == self._props["pause.at"] for record in records):
            self.context.pause(where)
            self._write("paused", partition=where)

    def _report(self, records: Collection[SinkRecord]) -> None:
        reporter = self.context.errant_record_reporter
        for record in records:
            if reporter is not None and record.value.endswith(self._props["report"]):
                try:
                    reporter.report(record, ValueError(f"cannot take {record.value}"))
                except ConnectError:
                    # A task may not get away with this.
                    self._write("swallowed")

    def _place(self, records: Collection[SinkRecord]) -> tuple[str, int]:
        record = next(iter(records))
        return record.original_topic, record.original_kafka_partition or 0

    def _happens_once(self) -> bool:
        if not self._once.exists():
            return False
        self._once.unlink()
        return True

    def _write(self, event: str, **more: Any) -> None:
        with self._journal.open("a") as journal:
            journal.write(json.dumps({"task": self._id, "event": event, "pid": os.getpid(), **more}) + "\n")


def _shown(record: SinkRecord) -> dict[str, Any]:
    return {
        "topic": record.topic,
        "value": record.value,
        "key": record.key,
        "timestamp": record.timestamp,
        "timestamp_type": record.timestamp_type.value,
        "headers": [[header.key, header.value] for header in record.headers],
        "offset": record.kafka_offset,
        "original": [record.original_topic, record.original_kafka_partition, record.original_kafka_offset],
    }
