# SPDX-License-Identifier: Apache-2.0
"""A task's process may go on without a check whether the task is still its worker's (against invariant 4)."""

from __future__ import annotations

from typing import Any

from headrace.model.ids import ConnectorTaskId
from headrace.task.task_protocol import AnyRequest, ConfirmStart
from headrace.worker.tasks.supervised_task import SupervisedTask

_answer = SupervisedTask.answer


def _go(task: SupervisedTask, id: ConnectorTaskId, request: AnyRequest) -> Any:
    return True if isinstance(request, ConfirmStart) else _answer(task, id, request)


SupervisedTask.answer = _go  # type: ignore[method-assign]
