# SPDX-License-Identifier: Apache-2.0
"""The parts that serve requests about records, dead letters and log lines, outside of tasks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.inspection.preview.previews import PreviewFrames, no_frames
from headrace.inspection.sandbox import Sandbox

if TYPE_CHECKING:
    from headrace.herder.cluster_changes import ClusterChanges
    from headrace.herder.connector_logs import ConnectorLogs
    from headrace.inspection.dead_letters.dead_letters import DeadLetters
    from headrace.inspection.topics.topic_records import TopicRecords


@dataclass(frozen=True, slots=True)
class Inspections:
    """The parts that serve such requests, which share one sandbox; what a part that is None serves is not found.

    ``frames`` offers Spark to previews.
    """

    sandbox: Sandbox = field(default_factory=Sandbox)
    topics: TopicRecords | None = None
    dead_letters: DeadLetters | None = None
    logs: ConnectorLogs | None = None
    changes: ClusterChanges | None = None
    frames: PreviewFrames = no_frames

    def close(self) -> None:
        """End waits for log lines, redrives after their present transactions, and then all that runs in the sandbox.

        Blocks some seconds.
        """
        if self.logs is not None:
            self.logs.close()
        if self.dead_letters is not None:
            self.dead_letters.close()
        self.sandbox.close()
