# SPDX-License-Identifier: Apache-2.0
"""A source of numbers from several source partitions, which any number of tasks share out among themselves.

Source partition n goes to partition n of the topic. Records that are aborted carry negative numbers.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headrace.api import ConfigDef, ExactlyOnceSupport, Schema, SourceConnector, SourceRecord, SourceTask
from headrace.api.source import ConnectorTransactionBoundaries

STOP_ONCE = "HEADRACE_TEST_DIE_ONCE"
"""Names a file: while it is there, the next task that is made removes it and stops its own process."""
_ABORTED_IN_ROW = 5


class PartitionedNumbersConnector(SourceConnector):
    """`partitions` source partitions; `batch` numbers of each a poll, `pause.ms` between polls, while `tap` exists.

    Another `shift` gives the partitions to other tasks.
    """

    def version(self) -> str:
        return "1"

    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)

    def task_class(self) -> type[SourceTask]:
        return PartitionedNumbersTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        own: list[list[str]] = [[] for _ in range(max_tasks)]
        for number in range(int(self._props["partitions"])):
            own[(number + int(self._props["shift"])) % max_tasks].append(str(number))
        return [{**self._props, "own": ",".join(numbers)} for numbers in own]

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return ConfigDef()

    def exactly_once_support(self, props: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def can_define_transaction_boundaries(self, props: Mapping[str, str]) -> ConnectorTransactionBoundaries:
        return ConnectorTransactionBoundaries.SUPPORTED


class PartitionedNumbersTask(SourceTask):
    """With boundaries of its own it commits in the middle of a poll, after two polls, and aborts two whole polls."""

    def __init__(self) -> None:
        once = Path(os.environ.get(STOP_ONCE, "/nonexistent"))
        if once.exists():
            once.unlink()
            os.kill(os.getpid(), signal.SIGSTOP)
            time.sleep(0.5)  # a signal to oneself is delivered at the latest here

    def version(self) -> str:
        return "1"

    def start(self, props: Mapping[str, str]) -> None:
        self._topic, self._tap = props["topic"], Path(props["tap"])
        self._batch, self._pause = int(props["batch"]), int(props["pause.ms"]) / 1000
        self._polls = 0
        own = [int(number) for number in props["own"].split(",")]
        offsets = self.context.offset_storage_reader.offsets([{"partition": number} for number in own])
        self._next = {n: offset["seqno"] + 1 if offset else 0 for n, offset in zip(own, offsets, strict=True)}

    def poll(self) -> list[SourceRecord] | None:
        if not self._tap.exists():
            time.sleep(0.05)
            return None
        if self._polls:
            time.sleep(self._pause)
        self._polls += 1
        context: Any = self.context.transaction_context
        return self._numbers() if context is None else self._bounded(context)

    def stop(self) -> None:
        pass

    def _bounded(self, context: Any) -> list[SourceRecord]:
        step = self._polls % 5
        if step == 4:
            context.abort_transaction()
        if step in (3, 4):
            return [self._record(n, next - 1, -1 - i) for n, next in self._next.items() for i in range(_ABORTED_IN_ROW)]
        records = self._numbers()
        if step == 1:
            context.commit_transaction(records[len(records) // 2])
        elif step == 2:
            context.commit_transaction()
        elif step == 0:
            context.commit_transaction(records[0])
            context.commit_transaction()
        return records

    def _numbers(self) -> list[SourceRecord]:
        records = []
        for partition, first in self._next.items():
            self._next[partition] = first + self._batch
            records += [self._record(partition, seqno, seqno) for seqno in range(first, first + self._batch)]
        return records

    def _record(self, partition: int, seqno: int, value: int) -> SourceRecord:
        source = {"partition": partition}
        return SourceRecord(source, {"seqno": seqno}, self._topic, partition, None, None, Schema.STRING, f"{value}")
