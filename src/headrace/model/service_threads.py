# SPDX-License-Identifier: Apache-2.0
"""Threads that serve for as long as the process lives, and what becomes of the process when one of them dies."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_log = logging.getLogger(__name__)
_MOST_KEPT: Final = 20


class ServiceThread(threading.Thread):
    """A daemon that ends only with what it serves; ``loss`` says what the worker cannot do without it."""

    def __init__(self, name: str, target: Callable[[], None], loss: str) -> None:
        super().__init__(target=target, name=name, daemon=True)
        self.loss: Final = loss


class ThreadDeaths:
    """The threads that have died of an exception that nobody caught, of any kind. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._losses: dict[str, str] = {}
        self._others: dict[str, str] = {}

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Hear meanwhile of all threads of the process, whoever has started them."""
        before, threading.excepthook = threading.excepthook, self.died
        try:
            yield
        finally:
            threading.excepthook = before

    def died(self, args: threading.ExceptHookArgs) -> None:
        """Note and log the death of a thread; `threading.excepthook`."""
        name = args.thread.name if args.thread is not None else "of an unknown name"
        reason = f"Thread {name} died of {args.exc_type.__name__}: {_text(args.exc_value)}"
        loss = getattr(args.thread, "loss", None)
        with self._lock:
            if loss is not None:
                self._losses[name] = f"{reason}; {loss}. Restart the worker"
            elif len(self._others) < _MOST_KEPT:
                self._others[name] = reason
        _log.critical("%s", reason, exc_info=args.exc_value)

    def losses(self) -> tuple[str, ...]:
        """What the worker cannot do any more, and why."""
        with self._lock:
            return tuple(self._losses.values())

    def others(self) -> tuple[str, ...]:
        """Deaths of threads that served one connector, task or request only."""
        with self._lock:
            return tuple(self._others.values())

    def forget(self) -> None:
        """Begin anew, as a test does."""
        with self._lock:
            self._losses.clear()
            self._others.clear()


def _text(error: BaseException | None) -> str:
    try:
        return str(error)
    except Exception:  # a plugin's own error may have no words
        return "(it cannot say why)"


DEATHS: Final = ThreadDeaths()
"""Of this process: `threading.excepthook` is the process' too."""
