# SPDX-License-Identifier: Apache-2.0
"""A thread that keeps a consumer in its group while the thread that polls it is busy."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

Clock = Callable[[], float]
T = TypeVar("T")


class _Call(Generic[T]):
    """A call, and its result or error."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._result: T | None = None
        self._error: BaseException | None = None
        self.done = False

    def run(self) -> None:
        try:
            self._result = self._call()
        except BaseException as error:
            self._error = error
        self.done = True

    def result(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._result


class PollKeeper:
    """A context manager around slow work: from ``every`` seconds on, ``poll`` is called that often.

    ``poll`` runs on the keeper's thread, and has ended when the block is left. Callbacks within it that belong on the
    busy thread go there by ``run_on_owner``, and run when that leaves the block. Meanwhile the client may be used on
    the thread that polls it only: so the busy thread makes its calls by ``call_on_poller``.

    The keeper's thread starts with the first block, and ends with ``close``.
    """

    def __init__(self, poll: Callable[[], None], every: float, clock: Clock = time.monotonic) -> None:
        self._poll = poll
        self._every = every
        self._clock = clock
        self._changed = threading.Condition()
        self._since: float | None = None
        self._polling = False
        self._closed = False
        self._work: _Call[None] | None = None
        self._call: _Call[Any] | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="poll-keeper", daemon=True)
            self._thread.start()
        self._since = self._clock()

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._since = None
            while self._polling:
                if self._work is not None and not self._work.done:
                    # The keeper's thread waits for it, and continues when this thread waits again, or has left.
                    self._work.run()
                    self._changed.notify_all()
                self._changed.wait_for(lambda: not self._polling or (self._work is not None and not self._work.done))

    def run_on_owner(self, work: Callable[[], None]) -> None:
        """Run ``work`` on the thread that uses the keeper: here, if this is that thread."""
        if not self._is_keepers_thread():
            work()
            return
        with self._changed:
            handed = self._work = _Call(work)
            self._changed.notify_all()
            while not handed.done and not self._closed:
                self._make_call()
                self._changed.wait_for(lambda: handed.done or self._closed or self._call is not None)
            self._work = None
        if handed.done:
            handed.result()

    def call_on_poller(self, call: Callable[[], T]) -> T:
        """Return the result of ``call``, made on the keeper's thread while that polls, else here."""
        if self._is_keepers_thread():
            return call()
        with self._changed:
            if not self._polling:
                return call()
            asked = self._call = _Call(call)
            self._changed.notify_all()
            self._changed.wait_for(lambda: asked.done)
        result: T = asked.result()
        return result

    def close(self) -> None:
        """End the keeper's thread."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _is_keepers_thread(self) -> bool:
        return self._thread is not None and threading.get_ident() == self._thread.ident

    def _make_call(self) -> None:
        if self._call is not None:
            self._call.run()
            self._call = None
            self._changed.notify_all()

    def _run(self) -> None:
        while self._wait_until_due():
            try:
                self._poll()
            finally:
                with self._changed:
                    self._make_call()
                    self._polling = False
                    self._changed.notify_all()

    def _wait_until_due(self) -> bool:
        with self._changed:
            while not self._closed:
                self._changed.wait(self._every)
                since = self._since
                if since is not None and self._clock() - since >= self._every and not self._closed:
                    self._polling = True
                    return True
        return False
