# SPDX-License-Identifier: Apache-2.0
"""What a sink task is given. Java: ``WorkerSinkTaskContext``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import dataclass, field

from headrace.api.errors import ConnectError
from headrace.api.frames import Frames
from headrace.api.sink import ErrantRecordReporter, SinkTaskContext, TopicPartition


class WorkerSinkTaskContext(SinkTaskContext):
    """Remembers the task's wishes; the loop fulfils them."""

    def __init__(
        self,
        config: Mapping[str, str],
        assignment: Callable[[], Set[TopicPartition]],
        pauses: PartitionPauses,
        apply_pauses: Callable[[], None],
        reporter: ErrantRecordReporter | None,
        frames: Frames,
        topic_id: Callable[[str], str],
    ) -> None:
        self._config = config
        self._assignment = assignment
        self._pauses = pauses
        self._apply_pauses = apply_pauses
        self._reporter = reporter
        self._frames = frames
        self._topic_id = topic_id
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

    def topic_id(self, topic: str) -> str:
        return self._topic_id(topic)

    @property
    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        return self._reporter

    @property
    def frames(self) -> Frames:
        return self._frames

    def take_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Where the task wants to go on in these, since this was asked last."""
        return {where: self._offsets.pop(where) for where in partitions if where in self._offsets}

    def take_timeout(self) -> float | None:
        """Seconds that the task wants to be left alone, None if it did not say."""
        timeout, self._timeout = self._timeout, None
        return timeout if timeout is not None and timeout > 0 else None

    def _check_assigned(self, what: str, partitions: Collection[TopicPartition]) -> None:
        strange = sorted(str(where) for where in partitions if where not in self._assignment())
        if strange:
            raise ConnectError(f"A sink task may not {what} partitions that are not assigned to it: {strange}")


@dataclass(slots=True)
class PartitionPauses:
    """``of_task``: by ``SinkTaskContext.pause``. The others concern all partitions: a connector that is paused, a batch
    that has to be put again first."""

    of_task: set[TopicPartition] = field(default_factory=set)
    connector: bool = False
    redelivery: bool = False

    def wanted(self, assignment: Set[TopicPartition]) -> Set[TopicPartition]:
        return assignment if self.connector or self.redelivery else assignment & self.of_task

    def removed(self, partitions: Set[TopicPartition]) -> None:
        """The task's wish ends with the assignment."""
        self.of_task -= partitions
