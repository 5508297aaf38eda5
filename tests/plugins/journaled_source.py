# SPDX-License-Identifier: Apache-2.0
"""A source of numbers whose records name the configuration and the start of a task that made them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.api import ConfigDef, ExactlyOnceSupport, Schema, SourceConnector, SourceRecord, SourceTask

_PAUSE_S = 0.1


class JournaledSourceConnector(SourceConnector):
    """`partitions` source partitions, shared out among the tasks; each gives a number a poll, ten a second.

    Source partition n goes to partition n of `topic`, as text: the number, `label` and the task's start. Each task
    that starts writes a line to `journal`. The last task takes `stop.ms` to stop.
    """

    def version(self) -> str:
        return "1"

    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)

    def task_class(self) -> type[SourceTask]:
        return JournaledSourceTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        partitions = int(self._props["partitions"])
        count = min(max_tasks, partitions)
        owns = [",".join(str(number) for number in range(task, partitions, count)) for task in range(count)]
        stops = ["0"] * (count - 1) + [self._props["stop.ms"]]
        each = enumerate(zip(owns, stops, strict=True))
        return [{**self._props, "task": str(task), "own": own, "stop.ms": stop} for task, (own, stop) in each]

    def stop(self) -> None: ...

    def config(self) -> ConfigDef:
        return ConfigDef()

    def exactly_once_support(self, props: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def alter_offsets(self, config: Mapping[str, str], offsets: Any) -> bool:
        return True


class JournaledSourceTask(SourceTask):
    def version(self) -> str:
        return "1"

    def start(self, props: Mapping[str, str]) -> None:
        self._topic, self._stop_s = props["topic"], int(props["stop.ms"]) / 1000
        own = [int(number) for number in props["own"].split(",")]
        offsets = self.context.offset_storage_reader.offsets([{"partition": number} for number in own])
        self._next = {n: offset["seqno"] + 1 if offset else 0 for n, offset in zip(own, offsets, strict=True)}
        start = f"{os.getpid()}-{time.time_ns()}"
        self._about = f"{props['label']} {start}"
        line = {"task": int(props["task"]), "label": int(props["label"]), "pid": os.getpid(), "start": start}
        with open(props["journal"], "a") as journal:
            journal.write(json.dumps({**line, "own": own, "first": list(self._next.values())}) + "\n")

    def poll(self) -> list[SourceRecord]:
        time.sleep(_PAUSE_S)
        records = [self._record(partition, seqno) for partition, seqno in self._next.items()]
        self._next = {partition: seqno + 1 for partition, seqno in self._next.items()}
        return records

    def stop(self) -> None:
        time.sleep(self._stop_s)

    def _record(self, partition: int, seqno: int) -> SourceRecord:
        source, value = {"partition": partition}, f"{seqno} {self._about}"
        return SourceRecord(source, {"seqno": seqno}, self._topic, partition, None, None, Schema.STRING, value)
