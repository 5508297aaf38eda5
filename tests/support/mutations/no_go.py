# SPDX-License-Identifier: Apache-2.0
"""A task's process may go on without anybody looking whether the task is still its worker's (against invariant 4)."""

from __future__ import annotations

from headrace.model.ids import ConnectorTaskId
from headrace.worker.tasks.supervised_task import SupervisedTask


def _go(task: SupervisedTask, id: ConnectorTaskId, attempt: int) -> bool:
    return True


SupervisedTask.confirm_start = _go  # type: ignore[method-assign]
