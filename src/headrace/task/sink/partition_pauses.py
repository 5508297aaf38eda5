# SPDX-License-Identifier: Apache-2.0
"""Who wants which partitions to deliver nothing for now. Pure."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

from headrace.api.sink import TopicPartition


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
