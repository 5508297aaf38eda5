# SPDX-License-Identifier: Apache-2.0
"""The figures of a sink task that are of partitions: how far it is behind, and how much it has not committed."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Protocol

from headrace.api.sink import TopicPartition
from headrace.metrics.client_metrics import FETCHES
from headrace.metrics.connect_metric import tagged
from headrace.task.sink.sink_offset_commit import SinkOffsetCommit
from headrace.task.task_metrics import TaskMetrics


class FetchingConsumer(Protocol):
    """The part used of ``SinkConsumer``, which documents it."""

    @property
    def assignment(self) -> Set[TopicPartition]: ...

    def end_offset(self, where: TopicPartition) -> int | None: ...

    def positions(self) -> Mapping[TopicPartition, int]: ...


class SinkLag:
    """Brings the figures up to date before each report, from what the client knows. Task's thread only.

    A lag is the difference of a partition's end and of the consumer's position, as in Kafka. Both are after markers of
    transactions and aborted records at the partition's end, so that it is 0 once the task has all records, and as old
    as the partition's last fetch. If only committed records are read, the end is where the first open transaction
    begins, as of the last second.
    """

    def __init__(
        self, consumer: FetchingConsumer, offsets: SinkOffsetCommit, client_id: str, metrics: TaskMetrics
    ) -> None:
        self._consumer = consumer
        self._offsets = offsets
        self._client_id = client_id
        self._metrics = metrics
        self._names: dict[TopicPartition, str] = {}

    def refresh(self) -> None:
        lags = self._lags()
        figures = {self._name(where): float(lag) for where, lag in lags.items()}
        if lags:
            greatest = float(max(lags.values()))
            figures |= {
                "sink-record-lag-max": greatest,
                tagged(FETCHES, "records-lag-max", client_id=self._client_id): greatest,
            }
        self._metrics.replace("lag", figures)
        self._metrics.progress.behind(sum(lags.values()))
        self._metrics.level("sink-record-active-count", self._offsets.active)

    def _lags(self) -> dict[TopicPartition, int]:
        positions, lags = self._consumer.positions(), dict[TopicPartition, int]()
        for where in self._consumer.assignment:
            # Until something is read, the position is that of the commit, or that the task has asked for.
            end, position = self._consumer.end_offset(where), positions.get(where, self._offsets.position(where))
            if end is not None and position is not None:
                lags[where] = max(0, end - position)
        return lags

    def _name(self, where: TopicPartition) -> str:
        name = self._names.get(where)
        if name is None:
            topic, partition = where.topic, str(where.partition)
            name = tagged(FETCHES, "records-lag", client_id=self._client_id, topic=topic, partition=partition)
            self._names[where] = name
        return name
