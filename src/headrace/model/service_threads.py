# SPDX-License-Identifier: Apache-2.0
"""Service threads, which live as long as the process, and a record of threads that died."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

log = logging.getLogger(__name__)
_MOST_KEPT: Final = 20


class ServiceThread(threading.Thread):
    """A daemon thread that ends only with its owner; ``loss`` says what the worker cannot do without it."""

    def __init__(self, name: str, target: Callable[[], None], loss: str) -> None:
        super().__init__(target=target, name=name, daemon=True)
        self.loss: Final = loss


class ThreadDeaths:
    """The threads that have died of an uncaught exception. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._losses: dict[str, str] = {}
        self._others: dict[str, str] = {}

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record the deaths of all threads of the process while the context is open."""
        before, threading.excepthook = threading.excepthook, self.record
        try:
            yield
        finally:
            threading.excepthook = before

    def record(self, args: threading.ExceptHookArgs) -> None:
        """Record and log the death of a thread; a `threading.excepthook`."""
        name = args.thread.name if args.thread is not None else "of an unknown name"
        reason = f"Thread {name} died of {args.exc_type.__name__}: {_text(args.exc_value)}"
        loss = getattr(args.thread, "loss", None)
        with self._lock:
            if loss is not None:
                self._losses[name] = f"{reason}; {loss}. Restart the worker"
            elif len(self._others) < _MOST_KEPT:
                self._others[name] = reason
        log.critical("%s", reason, exc_info=args.exc_value)

    def losses(self) -> tuple[str, ...]:
        """Return the losses of dead service threads: what the worker cannot do any more, and why."""
        with self._lock:
            return tuple(self._losses.values())

    def minor(self) -> tuple[str, ...]:
        """Return the deaths of threads that served a single connector, task or request."""
        with self._lock:
            return tuple(self._others.values())

    def clear(self) -> None:
        """Remove all records, for tests."""
        with self._lock:
            self._losses.clear()
            self._others.clear()


def _text(error: BaseException | None) -> str:
    try:
        return str(error)
    except Exception:  # a plugin's own error may have no words
        return "(it cannot say why)"


THREAD_DEATHS: Final = ThreadDeaths()
"""The record of this process, as there is one `threading.excepthook` per process."""
