# SPDX-License-Identifier: Apache-2.0
"""The life of a task as its worker sees it: one transition table."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from enum import Enum
from typing import Final

from headrace.api.errors import ConnectError
from headrace.model.ids import ConnectorTaskId

_HISTORY: Final = 20


class TaskPhase(Enum):
    """The phase of a task on this worker, through all of its attempts."""

    LAUNCHED = "launched"
    """No attempt has reached its first poll yet."""
    RUNNING = "running"
    PAUSED = "paused"
    RESTARTING = "restarting"
    """An attempt died through no fault of the task; another one follows."""
    FAILED = "failed"
    """Lasts until the task is stopped and started again."""
    STOPPING = "stopping"
    STOPPED = "stopped"
    """No process is left."""


class TaskEvent(Enum):
    """An event in a task's life: the launcher reports all but STOP."""

    RUNS = "runs"
    PAUSES = "pauses"
    FAILS = "fails"
    RESTARTS = "restarts"
    WAITS = "waits"
    """The engine has no room for its process, or is not there."""
    STOP = "stop"
    ENDS = "ends"


class StatusCall(Enum):
    """The method of the status listener that a transition calls; NONE where users see no change."""

    STARTUP = "startup"
    RUNNING = "running"
    PAUSE = "pause"
    FAILURE = "failure"
    RESTART = "restart"
    SHUTDOWN = "shutdown"
    NONE = "none"


_P, _E = TaskPhase, TaskEvent

TRANSITIONS: Final[Mapping[tuple[TaskPhase, TaskEvent], tuple[TaskPhase, StatusCall]]] = {
    (_P.LAUNCHED, _E.RUNS): (_P.RUNNING, StatusCall.STARTUP),
    (_P.LAUNCHED, _E.PAUSES): (_P.PAUSED, StatusCall.PAUSE),
    (_P.LAUNCHED, _E.FAILS): (_P.FAILED, StatusCall.FAILURE),
    (_P.LAUNCHED, _E.RESTARTS): (_P.RESTARTING, StatusCall.RESTART),
    (_P.LAUNCHED, _E.WAITS): (_P.RESTARTING, StatusCall.RESTART),
    (_P.LAUNCHED, _E.STOP): (_P.STOPPING, StatusCall.NONE),
    (_P.LAUNCHED, _E.ENDS): (_P.STOPPED, StatusCall.SHUTDOWN),
    (_P.RUNNING, _E.RUNS): (_P.RUNNING, StatusCall.NONE),
    (_P.RUNNING, _E.PAUSES): (_P.PAUSED, StatusCall.PAUSE),
    (_P.RUNNING, _E.FAILS): (_P.FAILED, StatusCall.FAILURE),
    (_P.RUNNING, _E.RESTARTS): (_P.RESTARTING, StatusCall.RESTART),
    (_P.RUNNING, _E.WAITS): (_P.RUNNING, StatusCall.NONE),
    (_P.RUNNING, _E.STOP): (_P.STOPPING, StatusCall.NONE),
    (_P.RUNNING, _E.ENDS): (_P.STOPPED, StatusCall.SHUTDOWN),
    (_P.PAUSED, _E.RUNS): (_P.RUNNING, StatusCall.RUNNING),
    (_P.PAUSED, _E.PAUSES): (_P.PAUSED, StatusCall.NONE),
    (_P.PAUSED, _E.FAILS): (_P.FAILED, StatusCall.FAILURE),
    (_P.PAUSED, _E.RESTARTS): (_P.RESTARTING, StatusCall.RESTART),
    (_P.PAUSED, _E.WAITS): (_P.PAUSED, StatusCall.NONE),
    (_P.PAUSED, _E.STOP): (_P.STOPPING, StatusCall.NONE),
    (_P.PAUSED, _E.ENDS): (_P.STOPPED, StatusCall.SHUTDOWN),
    (_P.RESTARTING, _E.RUNS): (_P.RUNNING, StatusCall.RUNNING),
    (_P.RESTARTING, _E.PAUSES): (_P.PAUSED, StatusCall.PAUSE),
    (_P.RESTARTING, _E.FAILS): (_P.FAILED, StatusCall.FAILURE),
    (_P.RESTARTING, _E.RESTARTS): (_P.RESTARTING, StatusCall.NONE),
    (_P.RESTARTING, _E.WAITS): (_P.RESTARTING, StatusCall.RESTART),
    (_P.RESTARTING, _E.STOP): (_P.STOPPING, StatusCall.NONE),
    (_P.RESTARTING, _E.ENDS): (_P.STOPPED, StatusCall.SHUTDOWN),
    # Its status stays readable: neither the end of its process nor a stop makes it UNASSIGNED.
    (_P.FAILED, _E.STOP): (_P.FAILED, StatusCall.NONE),
    (_P.FAILED, _E.ENDS): (_P.FAILED, StatusCall.NONE),
    (_P.FAILED, _E.WAITS): (_P.FAILED, StatusCall.NONE),
    # Reports of an attempt that has not received the stop yet are ignored.
    (_P.STOPPING, _E.RUNS): (_P.STOPPING, StatusCall.NONE),
    (_P.STOPPING, _E.PAUSES): (_P.STOPPING, StatusCall.NONE),
    (_P.STOPPING, _E.FAILS): (_P.STOPPING, StatusCall.NONE),
    (_P.STOPPING, _E.RESTARTS): (_P.STOPPING, StatusCall.NONE),
    (_P.STOPPING, _E.WAITS): (_P.STOPPING, StatusCall.NONE),
    (_P.STOPPING, _E.STOP): (_P.STOPPING, StatusCall.NONE),
    (_P.STOPPING, _E.ENDS): (_P.STOPPED, StatusCall.SHUTDOWN),
    (_P.STOPPED, _E.STOP): (_P.STOPPED, StatusCall.NONE),
    (_P.STOPPED, _E.WAITS): (_P.STOPPED, StatusCall.NONE),
}


class IllegalTransitionError(ConnectError):
    """A defect: an event that is impossible in the task's phase."""


class TaskLife:
    """One task's place in the table, and its history. Not thread-safe."""

    def __init__(self, id: ConnectorTaskId) -> None:
        self._id = id
        self.phase = TaskPhase.LAUNCHED
        self._history: deque[str] = deque([self.phase.name], maxlen=_HISTORY)

    def move(self, event: TaskEvent) -> StatusCall:
        """Take the transition and return the listener's call.

        Raise IllegalTransitionError, with the history, where there is none.
        """
        transition = TRANSITIONS.get((self.phase, event))
        if transition is None:
            history = " ".join(self._history)
            raise IllegalTransitionError(
                f"Task {self._id}: {event.name} is not possible from {self.phase.name}; history: {history}"
            )
        self.phase, call = transition
        self._history.append(f"-{event.name}-> {self.phase.name}")
        return call
