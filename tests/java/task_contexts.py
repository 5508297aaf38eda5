# SPDX-License-Identifier: Apache-2.0
"""The contexts of tasks in this process: offsets, topics' partitions and reports are kept in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Future
from typing import Any

from headrace.api.plugin_metrics import Counter, PluginMetrics
from headrace.api.record import SinkRecord
from headrace.api.sink import ConsumerGroupMetadata, ErrantRecordReporter, SinkTaskContext, TopicPartition
from headrace.api.source import OffsetStorageReader, SourceTaskContext, TransactionContext


class KeptOffsets(OffsetStorageReader):
    """Returns `committed`, or raises `error`; `asked` are the source partitions it was asked for."""

    def __init__(self, *committed: tuple[dict[str, Any], dict[str, Any]], error: Exception | None = None) -> None:
        self._committed = committed
        self._error = error
        self.asked: list[Any] = []

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        self.asked.append(partition)
        if self._error is not None:
            raise self._error
        return next((offset for known, offset in self._committed if known == partition), None)

    def offsets(self, partitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        return [self.offset(partition) for partition in partitions]


class KeptMetrics(PluginMetrics):
    """Keeps gauges by name."""

    def __init__(self) -> None:
        self.gauges: dict[str, Any] = {}

    def gauge(self, name: str, description: str, value: Any, tags: Mapping[str, str] | None = None) -> None:
        self.gauges[name] = (value, description, dict(tags or {}))

    def counter(self, name: str, description: str, tags: Mapping[str, str] | None = None) -> Counter:
        raise NotImplementedError

    def remove(self, name: str, tags: Mapping[str, str] | None = None) -> None:
        del self.gauges[name]


class SourceContext(SourceTaskContext):
    """The context of a source task."""

    offset_storage_reader: Any = None
    transaction_context: Any = None
    frames: Any = None

    def __init__(self, reader: OffsetStorageReader | None = None, transactions: TransactionContext | None = None):
        self.offset_storage_reader = reader or KeptOffsets()
        self.transaction_context = transactions
        self.metrics = KeptMetrics()

    def configs(self) -> Mapping[str, str]:
        return {"name": "java"}

    def plugin_metrics(self) -> PluginMetrics:
        return self.metrics


class KeptReports(ErrantRecordReporter):
    """Keeps what is reported, with the futures it has returned; raises `error` if there is one."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error
        self.reported: list[tuple[SinkRecord, BaseException]] = []
        self.futures: list[Future[None]] = []

    def report(self, record: SinkRecord, error: BaseException) -> Future[None]:
        self.reported.append((record, error))
        if self._error is not None:
            raise self._error
        self.futures.append(Future())
        return self.futures[-1]


class SinkContext(SinkTaskContext):
    """The context of a sink task; `calls` are those with an effect."""

    errant_record_reporter: Any = None
    frames: Any = None

    def __init__(self, reporter: ErrantRecordReporter | None = None) -> None:
        self.errant_record_reporter = reporter
        self.calls: list[tuple[Any, ...]] = []
        self.metrics = KeptMetrics()

    def configs(self) -> Mapping[str, str]:
        return {"name": "java"}

    def offsets(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.calls.append(("offsets", dict(offsets)))

    def timeout_ms(self, timeout_ms: int) -> None:
        self.calls.append(("timeout_ms", timeout_ms))

    def assignment(self) -> Collection[TopicPartition]:
        return {TopicPartition("t", 0), TopicPartition("t", 1)}

    def pause(self, *partitions: TopicPartition) -> None:
        self.calls.append(("pause", *partitions))

    def resume(self, *partitions: TopicPartition) -> None:
        self.calls.append(("resume", *partitions))

    def request_commit(self) -> None:
        self.calls.append(("request_commit",))

    def committed(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {partition: 7 for partition in partitions if partition.partition == 0}

    def consumer_group_metadata(self) -> ConsumerGroupMetadata:
        return ConsumerGroupMetadata("connect-java", 3, "member-1")

    def topic_id(self, topic: str) -> str:
        raise NotImplementedError

    def plugin_metrics(self) -> PluginMetrics:
        return self.metrics
