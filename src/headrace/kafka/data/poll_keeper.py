# SPDX-License-Identifier: Apache-2.0
"""Keeps a consumer in its group while the thread that polls it is busy with something slow."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

Clock = Callable[[], float]
T = TypeVar("T")


class _Call(Generic[T]):
    """A call, and what came of it."""

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
    """``with keeper:`` around what may take long: from ``every`` seconds on, ``poll`` is called that often.

    ``poll`` runs on the keeper's thread, and is over when the block is left. What comes up in it that belongs on the
    busy thread goes there by ``on_owner``, and is done when that leaves the block. Meanwhile the polled client answers
    no other thread than the one that polls it: so the busy one makes its calls by ``on_poller``.

    The keeper's thread comes into being with the first block, and ends with ``close``.
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
                    # Whoever waits for it cannot go on before this thread waits again, or is done.
                    self._work.run()
                    self._changed.notify_all()
                self._changed.wait_for(lambda: not self._polling or (self._work is not None and not self._work.done))

    def on_owner(self, work: Callable[[], None]) -> None:
        """Do ``work`` on the thread that uses the keeper: here, if this is that thread."""
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

    def on_poller(self, call: Callable[[], T]) -> T:
        """What ``call`` gives; it is made on the keeper's thread while that polls, else here."""
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
