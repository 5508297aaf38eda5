# SPDX-License-Identifier: Apache-2.0
"""A source of numbers for fault tests, with points at which its own process dies by a real SIGKILL.

`die.at` names the point, `die.once` a file: the process dies only as long as the file is there, and removes it first.
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
from headrace.kafka.data.transactional_producer import TransactionalProducer

_LATE = 5  # The transaction that a point within the flow belongs to.
_LONG = 120


class NumberedSourceConnector(SourceConnector):
    """One task; numbers 0 to `count` - 1, `batch` a poll, `pause.ms` between polls until the file `hurry` is there."""

    def version(self) -> str:
        return "1"

    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)

    def task_class(self) -> type[SourceTask]:
        return NumberedSourceTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{**self._props, "id": str(n)} for n in range(max_tasks)]

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return ConfigDef()

    def exactly_once_support(self, props: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def can_define_transaction_boundaries(self, props: Mapping[str, str]) -> ConnectorTransactionBoundaries:
        return ConnectorTransactionBoundaries.SUPPORTED


class Death:
    """Kills (or stops) this process at one point, once; or has it wait there to be killed, `die.how=wait`."""

    def __init__(self, props: Mapping[str, str]) -> None:
        self._point = props.get("die.at", "")
        self._once = Path(props.get("die.once", "/nonexistent"))
        self._waits = props.get("die.how") == "wait"
        self._signal = signal.SIGSTOP if props.get("die.how") == "stop" else signal.SIGKILL

    def at(self, point: str) -> None:
        if point == self._point and self._once.exists():
            self._once.unlink()
            if self._waits:
                time.sleep(_LONG)
            if self._signal is signal.SIGSTOP:
                # In a session of its own the kernel does not wake it when the processes above it are killed.
                os.setsid()
            os.kill(os.getpid(), self._signal)
            # A signal to oneself is delivered at the latest here.
            time.sleep(0.5)

    def around_commit(self) -> None:
        """Put the points before and after the commit of a transaction into this process' producer."""
        commit, done = TransactionalProducer.commit, [0]

        def dying_commit(producer: TransactionalProducer, timeout: float, records: int | None = None) -> None:
            done[0] += 1
            if done[0] == _LATE:
                self.at("before_commit")
            commit(producer, timeout, records)
            if done[0] == _LATE:
                self.at("after_commit")

        TransactionalProducer.commit = dying_commit  # type: ignore[method-assign]


class NumberedSourceTask(SourceTask):
    def version(self) -> str:
        return "1"

    def start(self, props: Mapping[str, str]) -> None:
        self._death = Death(props)
        self._death.at("after_init")
        self._death.around_commit()
        self._partition = {"id": props["id"]}
        offset = self.context.offset_storage_reader.offset(self._partition)
        self._next = offset["seqno"] + 1 if offset else 0
        self._topic = props["topic"]
        self._batch = int(props.get("batch", "100"))
        self._count = int(props.get("count", "2000"))
        self._pause = int(props.get("pause.ms", "10")) / 1000
        self._hurry = Path(props.get("hurry", "/nonexistent"))
        self._abort_at = int(props.get("abort.every", "0"))
        self._polls = 0
        self._stopped = False

    def poll(self) -> list[SourceRecord] | None:
        time.sleep(0 if self._hurry.exists() else self._pause)
        self._polls += 1
        if self._polls == _LATE:
            self._death.at("mid_produce")
        end = min(self._next + self._batch, self._count)
        records = [self._record(seqno) for seqno in range(self._next, end)]
        self._next = end
        self._bound(records)
        return records

    def stop(self) -> None:
        self._stopped = True

    def _record(self, seqno: int) -> SourceRecord:
        return SourceRecord(self._partition, {"seqno": seqno}, self._topic, 0, None, None, Schema.STRING, f"{seqno}")

    def _bound(self, records: list[SourceRecord]) -> None:
        """With boundaries of its own: commit in the middle and abort every `abort.every`th poll's second half."""
        context: Any = self.context.transaction_context
        if context is None or not records:
            return
        context.commit_transaction(records[len(records) // 2])
        if self._abort_at and self._polls % self._abort_at == 0:
            context.abort_transaction()
        else:
            context.commit_transaction()


class DyingBeforeInitConnector(NumberedSourceConnector):
    """Its task's process dies while the task is made: before any transaction is initialised."""

    def task_class(self) -> type[SourceTask]:
        return DyingBeforeInitTask


class DyingBeforeInitTask(NumberedSourceTask):
    def __init__(self) -> None:
        once = Path(os.environ.get("HEADRACE_TEST_DIE_ONCE", "/nonexistent"))
        if once.exists():
            once.unlink()
            os.kill(os.getpid(), signal.SIGKILL)


class StoppingBeforeInitConnector(NumberedSourceConnector):
    """Its task's process is stopped at the same point, and may be woken later."""

    def task_class(self) -> type[SourceTask]:
        return StoppingBeforeInitTask


class StoppingBeforeInitTask(NumberedSourceTask):
    def __init__(self) -> None:
        once = Path(os.environ.get("HEADRACE_TEST_DIE_ONCE", "/nonexistent"))
        Death({"die.at": "before_init", "die.once": str(once), "die.how": "stop"}).at("before_init")
