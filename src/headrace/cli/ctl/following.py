# SPDX-License-Identifier: Apache-2.0
"""Requests of commands that follow something: they continue when a worker that was not there answers again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Final, TypeVar

import typer

from headrace.cli.ctl.command import Session
from headrace.cli.ctl.ctl_error import CtlError, ExitCode, UnavailableError
from headrace.model.deadline import Clock, Deadline

_T = TypeVar("_T")
_INTERVAL_S: Final = 1.0
NoAnswerTimeout = Annotated[
    float | None,
    typer.Option(
        help="Seconds without an answer of the worker after which to end; by default never.",
        min=0,
        show_default=False,
    ),
]


class Follower:
    """Repeats a request as long as its worker cannot serve it, and says so once on stderr. For one thread.

    The first request of a command is not for it: an address that is wrong is an error at once.
    """

    def __init__(
        self,
        session: Session,
        timeout: float | None,
        end: Deadline | None = None,
        clock: Clock = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """``timeout`` is for each time without an answer, in seconds; ``end`` is that of the whole command."""
        self._session = session
        self._timeout = timeout
        self._end = end
        self._clock = clock
        self._sleep = sleep

    def ask(self, request: Callable[[], _T]) -> _T:
        """Return the answer. Raise CtlError at the deadline, and at once for what lasts, such as 401, 403 or 404."""
        since: float | None = None
        while True:
            try:
                found = request()
            except UnavailableError as error:
                since = self._waited(since, error)
            else:
                if since is not None:
                    self._session.say("The worker answers again")
                return found

    def _waited(self, since: float | None, error: UnavailableError) -> float:
        now = self._clock()
        if since is None:
            self._session.say(f"{error}; it is asked again until it answers")
            since = now
        ended = self._end is not None and self._end.expired
        if ended or (self._timeout is not None and now - since >= self._timeout):
            raise CtlError(f"No answer for {now - since:.0f} s: {error}", ExitCode.NO_ANSWER) from error
        self._sleep(_INTERVAL_S)
        return since
