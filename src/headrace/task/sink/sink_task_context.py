# SPDX-License-Identifier: Apache-2.0
"""The context of a sink task, and the partitions that it has paused. Java: ``WorkerSinkTaskContext``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import dataclass, field

from headrace.api.errors import ConnectError
from headrace.api.frames import Frames
from headrace.api.plugin_metrics import PluginMetrics
from headrace.api.sink import ConsumerGroupMetadata, ErrantRecordReporter, SinkTaskContext, TopicPartition


@dataclass(frozen=True, slots=True)
class SinkTaskServices:
    """The parts of the context that are there for the task alone.

    ``committed`` and ``group_metadata`` are the consumer's; ``topic_id`` returns a topic's id.
    """

    committed: Callable[[Collection[TopicPartition]], Mapping[TopicPartition, int]]
    group_metadata: Callable[[], ConsumerGroupMetadata]
    reporter: ErrantRecordReporter | None
    frames: Frames
    topic_id: Callable[[str], str]
    plugin_metrics: PluginMetrics


class WorkerSinkTaskContext(SinkTaskContext):
    """Collects the task's requests, which the loop carries out. Task's thread only."""

    def __init__(
        self,
        config: Mapping[str, str],
        assignment: Callable[[], Set[TopicPartition]],
        pauses: PartitionPauses,
        apply_pauses: Callable[[], None],
        services: SinkTaskServices,
    ) -> None:
        self._config = config
        self._assignment = assignment
        self._pauses = pauses
        self._apply_pauses = apply_pauses
        self._services = services
        self._offsets: dict[TopicPartition, int] = {}
        self._timeout: float | None = None
        self.commit_requested = False

    def configs(self) -> Mapping[str, str]:
        return self._config

    def offsets(self, offsets: Mapping[TopicPartition, int]) -> None:
        self._offsets |= {TopicPartition(*where): offset for where, offset in offsets.items()}

    def timeout_ms(self, timeout_ms: int) -> None:
        self._timeout = timeout_ms / 1000

    def assignment(self) -> Collection[TopicPartition]:
        return frozenset(self._assignment())

    def pause(self, *partitions: TopicPartition) -> None:
        self._check_assigned("pause", partitions)
        self._pauses.of_task.update(partitions)
        self._apply_pauses()

    def resume(self, *partitions: TopicPartition) -> None:
        self._check_assigned("resume", partitions)
        self._pauses.of_task.difference_update(partitions)
        self._apply_pauses()

    def request_commit(self) -> None:
        self.commit_requested = True

    def committed(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return self._services.committed(partitions)

    def consumer_group_metadata(self) -> ConsumerGroupMetadata:
        return self._services.group_metadata()

    def topic_id(self, topic: str) -> str:
        return self._services.topic_id(topic)

    @property
    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        return self._services.reporter

    @property
    def frames(self) -> Frames:
        return self._services.frames

    def plugin_metrics(self) -> PluginMetrics:
        return self._services.plugin_metrics

    def take_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offsets that the task asked for since the last call, of these partitions."""
        if not self._offsets:
            return {}
        return {where: self._offsets.pop(where) for where in partitions if where in self._offsets}

    def take_timeout(self) -> float | None:
        """Return the seconds that the task asked for until the next ``put``, None if it did not."""
        timeout, self._timeout = self._timeout, None
        return timeout if timeout is not None and timeout > 0 else None

    def _check_assigned(self, what: str, partitions: Collection[TopicPartition]) -> None:
        unassigned = sorted(str(where) for where in partitions if where not in self._assignment())
        if unassigned:
            raise ConnectError(f"A sink task may not {what} partitions that are not assigned to it: {unassigned}")


@dataclass(slots=True)
class PartitionPauses:
    """The reasons to consume nothing from partitions. Pure.

    ``of_task``: ``SinkTaskContext.pause``. The others concern all partitions: ``connector``, a connector that is
    paused; ``redelivery``, a batch that has to be put again first.
    """

    of_task: set[TopicPartition] = field(default_factory=set)
    connector: bool = False
    redelivery: bool = False

    def paused(self, assignment: Set[TopicPartition]) -> Set[TopicPartition]:
        """Return the assigned partitions that have to be paused."""
        return assignment if self.connector or self.redelivery else assignment & self.of_task

    def remove_partitions(self, partitions: Set[TopicPartition]) -> None:
        """Forget the task's pauses of partitions that are no longer assigned."""
        self.of_task -= partitions
