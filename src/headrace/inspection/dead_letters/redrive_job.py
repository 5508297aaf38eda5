# SPDX-License-Identifier: Apache-2.0
"""A redrive or discard that a worker does in the background, and its progress."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable
from enum import Enum
from typing import Any, Final

from headrace.api.error_text import error_line, error_text
from headrace.api.errors import ConnectError
from headrace.inspection.dead_letters.redrive import CancelledError, Redrive
from headrace.inspection.dead_letters.redrive_rules import LetterRequest
from headrace.inspection.sandbox import SandboxCancelledError
from headrace.kafka.errors import ProducerFencedError
from headrace.logs.context import within

log = logging.getLogger(__name__)
_FENCED: Final = (
    "another redrive of the connector's dead letters has begun, on this or another worker (or this one stood still for"
    " longer than a transaction may last): it can write nothing more, and what it has not passed is left to the other"
)


class JobState(str, Enum):
    """The states of a job. FENCED: another redrive of the connector has begun, on this worker or another one."""

    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    FENCED = "FENCED"
    CANCELLED = "CANCELLED"


class RedriveJob:
    """One job, on a daemon thread of its own. Thread-safe."""

    def __init__(self, connector: str, request: LetterRequest, worker_id: str, clock_ms: Callable[[], int]) -> None:
        """``clock_ms`` returns milliseconds since the epoch."""
        self.id = uuid.uuid4().hex
        self._connector = connector
        self._request = request
        self._worker_id = worker_id
        self._clock_ms = clock_ms
        self._started = clock_ms()
        self._ended: int | None = None
        self._state = JobState.RUNNING
        self._error: str | None = None
        self._redrive: Redrive | None = None
        self._thread: threading.Thread | None = None

    def start(self, create: Callable[[], Redrive]) -> None:
        """Begin; ``create`` returns the redrive."""
        run = within(self._connector, lambda: self._run(create))
        thread = threading.Thread(target=run, name=f"dead-letters-{self._connector}", daemon=True)
        thread.start()
        self._thread = thread

    def wait(self, timeout_s: float) -> None:
        """Wait until the job has ended, if it was started, or the timeout is over."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def to_json(self) -> dict[str, Any]:
        redrive = self._redrive
        return {
            "id": self.id,
            "connector": self._connector,
            "worker_id": self._worker_id,
            "action": self._request.action.value,
            "state": self._state.value,
            "error": self._error,
            "started": self._started,
            "ended": self._ended,
            "counts": redrive.counts.to_json() if redrive is not None else None,
            "failures": [*redrive.failures] if redrive is not None else [],
        }

    def _run(self, create: Callable[[], Redrive]) -> None:
        try:
            self._redrive = create()
            self._redrive.run()
        except ProducerFencedError:
            self._end(JobState.FENCED, _FENCED)
        except (CancelledError, SandboxCancelledError) as error:
            self._end(JobState.CANCELLED, error_text(error))
        except ConnectError as error:
            self._end(JobState.FAILED, error_text(error))
        except Exception as error:
            log.exception("The %s of dead letters failed unexpectedly", self._request.action.value)
            self._end(JobState.FAILED, error_line(error))
        else:
            self._end(JobState.COMPLETED, None)

    def _end(self, state: JobState, error: str | None) -> None:
        if self._redrive is not None and error is not None:
            error = self._redrive.hide(error)
        self._ended, self._error = self._clock_ms(), error
        self._state = state
        counts = self._redrive.counts.to_json() if self._redrive is not None else {}
        shown = ", ".join(f"{name} {count}" for name, count in counts.items() if count)
        log.info("The %s of dead letters is %s: %s", self._request.action.value, state.value, error or shown or "none")
