# SPDX-License-Identifier: Apache-2.0
"""What a source task is told after offsets became visible: ``commit_record`` per record, then ``commit``."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from headrace.api.record import SourceRecord
from headrace.api.source import RecordMetadata, SourceTask

_log = logging.getLogger(__name__)


class TaskCallbacks:
    """The task's thread only. Records are remembered for ``commit_record`` only where the task overrides it."""

    def __init__(self, task: SourceTask) -> None:
        self._task = task
        self.wants_records = type(task).commit_record is not SourceTask.commit_record

    def records(self, committed: Iterable[tuple[SourceRecord, RecordMetadata | None]]) -> None:
        """An error of the task's is the task's failure, as in Java."""
        if self.wants_records:
            for record, metadata in committed:
                self._task.commit_record(record, metadata)

    def offsets(self) -> None:
        """An error is logged, no more: the offsets are committed whatever the task makes of it."""
        try:
            self._task.commit()
        except Exception:
            _log.exception("commit of the task failed after its offsets were committed")
