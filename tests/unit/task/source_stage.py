# SPDX-License-Identifier: Apache-2.0
"""The exactly-once loop around a script, with transactions in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.api.source import RecordMetadata, WrittenRecords
from headrace.config.connector_config import ConnectorConfig
from headrace.plugins.discovery import Plugins
from headrace.task.record_converter import create_record_converter
from headrace.task.source.exactly_once_worker_source_task import ExactlyOnceWorkerSourceTask
from headrace.task.source.source_batch import OffsetsByKey, SourceBatches, SourceDeadLetters, SourceOffset
from headrace.task.source.source_task_calls import CommitNotifier, Poller
from headrace.task.source.transaction_boundary import Boundary
from headrace.task.source.transaction_commits import TransactionCommits
from headrace.task.task_converters import TaskConverters
from headrace.task.task_metrics import TaskMetrics
from headrace.task.task_protocol import Metrics
from headrace.task.topic_batch import TopicBatch
from headrace.task.transformation_chain import create_transformation_chain
from headrace.task.worker_link import TaskControl
from tests.unit.task.support_plugins import ScriptedTask

STRING = "org.apache.kafka.connect.storage.StringConverter"


class NotifiedTask(ScriptedTask):
    """Runs its script, the functions in it too, then asks to be stopped; notes the calls after commits."""

    def __init__(self, control: TaskControl, heard: list[Any], script: Sequence[Any]) -> None:
        super().__init__(*script)
        self._control = control
        self._heard = heard

    def poll(self) -> Any:
        if not self.polls:
            self._control.stop()
            return None
        polled = super().poll()
        return polled() if callable(polled) else polled

    def commit(self) -> None:
        self._heard.append("commit")


class WantsRecords(NotifiedTask):
    def commit_record(self, record: Any, metadata: RecordMetadata | None) -> None:
        self._heard.append(("record", record.value, metadata and metadata.offset))


class Memory:
    """Transactions in memory: ``visible`` are values and the offsets committed with them, one entry per commit."""

    def __init__(self) -> None:
        self.visible: list[tuple[list[bytes | None], list[Any]]] = []
        self.aborts = 0
        self._open: list[tuple[bytes | None, Any]] = []
        self._in_transaction = False
        self._offsets: OffsetsByKey = {}

    @property
    def pending(self) -> bool:
        return self._in_transaction or bool(self._offsets)

    @property
    def size(self) -> int:
        return len(self._open)

    def write(self, batches: Sequence[TopicBatch], count: int) -> None:
        assert count == sum(len(batch.values) for batch in batches)
        self._in_transaction = True
        for batch in batches:
            self._open += zip(batch.values, batch.sources or [None] * len(batch.values), strict=True)

    def add_offsets(self, offsets: OffsetsByKey) -> None:
        self._offsets.update(offsets)

    def commit(self) -> tuple[tuple[SourceOffset, ...], list[Any]]:
        offsets = tuple(self._offsets.values())
        self.visible.append(([value for value, _ in self._open], [o.offset and o.offset["n"] for o in offsets]))
        sources = [source for _, source in self._open if source is not None]
        delivered = [WrittenRecords("t", sources, [(row, 0, row, None) for row in range(len(sources))])]
        self._open, self._offsets, self._in_transaction = [], {}, False
        return offsets, delivered

    def abort(self) -> None:
        self._open, self._in_transaction = [], False
        self.aborts += 1


class Stage:
    """Puts a loop together around a script."""

    def __init__(self, link: Any, clock: Any, control: TaskControl, plugins: Plugins, errors: Any) -> None:
        self.link, self.clock, self.control, self._plugins = link, clock, control, plugins
        self.errors = errors
        self.handling: dict[str, Any] = {"tolerates": False}
        self.dead_letters: SourceDeadLetters | None = None
        self.memory = Memory()
        self.report: Callable[[], None] = lambda: None
        """Reports the figures of the last run."""

    def parts(
        self, script: Sequence[Any], kind: type[NotifiedTask], transforms: dict[str, str]
    ) -> tuple[Poller, SourceBatches, CommitNotifier, TaskMetrics]:
        task = kind(self.control, self.link.heard, script)
        notifier = CommitNotifier(task, self.link)
        handled = self.errors(**self.handling)
        converters = TaskConverters({}, {"key.converter": STRING, "value.converter": STRING}, self._plugins)
        converter = create_record_converter(converters, handled)
        config = ConnectorConfig({"name": "c", "connector.class": "C", **transforms})
        chain = create_transformation_chain(config, self._plugins, handled)
        batches = SourceBatches("c", chain, converter, self.dead_letters, remember=notifier.wants_records)
        progress = self.control.progress
        metrics = TaskMetrics(lambda values: self.link.send(Metrics(values)), self.clock, progress=progress)
        return Poller(task, self.control, self.link), batches, notifier, metrics

    def run(
        self,
        boundary: Boundary,
        *script: Any,
        kind: type[NotifiedTask] = NotifiedTask,
        transforms: dict[str, str] | None = None,
        beside_polls: bool = False,
    ) -> list[tuple[list[bytes | None], list[Any]]]:
        poller, batches, notifier, metrics = self.parts(script, kind, transforms or {})
        self.report = metrics.report
        commits = TransactionCommits(self.memory, notifier, metrics, self.clock, beside_polls=beside_polls)
        ExactlyOnceWorkerSourceTask(poller, batches, self.memory, boundary, commits, metrics, self.clock).execute()
        return self.memory.visible

    def after(self, seconds: float, polled: Any) -> Callable[[], Any]:
        def poll() -> Any:
            self.clock.now += seconds
            return polled

        return poll
