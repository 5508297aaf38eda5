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
    """What a task is on this worker, through all of its attempts."""

    LAUNCHED = "launched"
    """No attempt has reached its first poll yet."""
    RUNNING = "running"
    PAUSED = "paused"
    RESTARTING = "restarting"
    """An attempt died through no fault of the task; another one follows."""
    FAILED = "failed"
    """Stays so until the task is stopped and started again."""
    STOPPING = "stopping"
    STOPPED = "stopped"
    """No process is left."""


class TaskEvent(Enum):
    """What happens to a task: the launcher tells all but STOP."""

    RUNS = "runs"
    PAUSES = "pauses"
    FAILS = "fails"
    RESTARTS = "restarts"
    WAITS = "waits"
    """The engine has no room for its process, or is not there."""
    STOP = "stop"
    ENDS = "ends"


class Tell(Enum):
    """Which method of the status listener a transition calls; NOTHING where users see no change."""

    STARTUP = "startup"
    RUNNING = "running"
    PAUSE = "pause"
    FAILURE = "failure"
    RESTART = "restart"
    SHUTDOWN = "shutdown"
    NOTHING = "nothing"


_P, _E = TaskPhase, TaskEvent

TRANSITIONS: Final[Mapping[tuple[TaskPhase, TaskEvent], tuple[TaskPhase, Tell]]] = {
    (_P.LAUNCHED, _E.RUNS): (_P.RUNNING, Tell.STARTUP),
    (_P.LAUNCHED, _E.PAUSES): (_P.PAUSED, Tell.PAUSE),
    (_P.LAUNCHED, _E.FAILS): (_P.FAILED, Tell.FAILURE),
    (_P.LAUNCHED, _E.RESTARTS): (_P.RESTARTING, Tell.RESTART),
    (_P.LAUNCHED, _E.WAITS): (_P.RESTARTING, Tell.RESTART),
    (_P.LAUNCHED, _E.STOP): (_P.STOPPING, Tell.NOTHING),
    (_P.LAUNCHED, _E.ENDS): (_P.STOPPED, Tell.SHUTDOWN),
    (_P.RUNNING, _E.RUNS): (_P.RUNNING, Tell.NOTHING),
    (_P.RUNNING, _E.PAUSES): (_P.PAUSED, Tell.PAUSE),
    (_P.RUNNING, _E.FAILS): (_P.FAILED, Tell.FAILURE),
    (_P.RUNNING, _E.RESTARTS): (_P.RESTARTING, Tell.RESTART),
    (_P.RUNNING, _E.WAITS): (_P.RUNNING, Tell.NOTHING),
    (_P.RUNNING, _E.STOP): (_P.STOPPING, Tell.NOTHING),
    (_P.RUNNING, _E.ENDS): (_P.STOPPED, Tell.SHUTDOWN),
    (_P.PAUSED, _E.RUNS): (_P.RUNNING, Tell.RUNNING),
    (_P.PAUSED, _E.PAUSES): (_P.PAUSED, Tell.NOTHING),
    (_P.PAUSED, _E.FAILS): (_P.FAILED, Tell.FAILURE),
    (_P.PAUSED, _E.RESTARTS): (_P.RESTARTING, Tell.RESTART),
    (_P.PAUSED, _E.WAITS): (_P.PAUSED, Tell.NOTHING),
    (_P.PAUSED, _E.STOP): (_P.STOPPING, Tell.NOTHING),
    (_P.PAUSED, _E.ENDS): (_P.STOPPED, Tell.SHUTDOWN),
    (_P.RESTARTING, _E.RUNS): (_P.RUNNING, Tell.RUNNING),
    (_P.RESTARTING, _E.PAUSES): (_P.PAUSED, Tell.PAUSE),
    (_P.RESTARTING, _E.FAILS): (_P.FAILED, Tell.FAILURE),
    (_P.RESTARTING, _E.RESTARTS): (_P.RESTARTING, Tell.NOTHING),
    (_P.RESTARTING, _E.WAITS): (_P.RESTARTING, Tell.RESTART),
    (_P.RESTARTING, _E.STOP): (_P.STOPPING, Tell.NOTHING),
    (_P.RESTARTING, _E.ENDS): (_P.STOPPED, Tell.SHUTDOWN),
    # Its status stays readable: neither the end of its process nor a stop makes it UNASSIGNED.
    (_P.FAILED, _E.STOP): (_P.FAILED, Tell.NOTHING),
    (_P.FAILED, _E.ENDS): (_P.FAILED, Tell.NOTHING),
    (_P.FAILED, _E.WAITS): (_P.FAILED, Tell.NOTHING),
    # What an attempt reports before it hears of the stop is of no interest any more.
    (_P.STOPPING, _E.RUNS): (_P.STOPPING, Tell.NOTHING),
    (_P.STOPPING, _E.PAUSES): (_P.STOPPING, Tell.NOTHING),
    (_P.STOPPING, _E.FAILS): (_P.STOPPING, Tell.NOTHING),
    (_P.STOPPING, _E.RESTARTS): (_P.STOPPING, Tell.NOTHING),
    (_P.STOPPING, _E.WAITS): (_P.STOPPING, Tell.NOTHING),
    (_P.STOPPING, _E.STOP): (_P.STOPPING, Tell.NOTHING),
    (_P.STOPPING, _E.ENDS): (_P.STOPPED, Tell.SHUTDOWN),
    (_P.STOPPED, _E.STOP): (_P.STOPPED, Tell.NOTHING),
    (_P.STOPPED, _E.WAITS): (_P.STOPPED, Tell.NOTHING),
}


class IllegalTransitionError(ConnectError):
    """A defect: something happened to a task that cannot happen in its phase."""


class TaskLife:
    """Where one task is in the table, and how it came there. Not thread-safe."""

    def __init__(self, id: ConnectorTaskId) -> None:
        self._id = id
        self.phase = TaskPhase.LAUNCHED
        self._history: deque[str] = deque([self.phase.name], maxlen=_HISTORY)

    def move(self, event: TaskEvent) -> Tell:
        """Takes the transition; what to tell of it. IllegalTransitionError, with the history, where there is none."""
        transition = TRANSITIONS.get((self.phase, event))
        if transition is None:
            history = " ".join(self._history)
            raise IllegalTransitionError(
                f"Task {self._id}: {event.name} is not possible from {self.phase.name}; history: {history}"
            )
        self.phase, tell = transition
        self._history.append(f"-{event.name}-> {self.phase.name}")
        return tell
