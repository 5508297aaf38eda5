# SPDX-License-Identifier: Apache-2.0
"""Reports of a process about its own end, which no process waits for: who has ended it, and with which status."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class ExitCalled:
    """A message of a process that is about to end, as Java code has called ``System.exit``, to the one it works for.

    ``caller`` is the method that has called it, None if that is not known. The process is lost only when
    its connection ends.
    """

    caller: str | None


OnExit = Callable[[str | None], None]
_listeners: Final[list[OnExit]] = []


@contextmanager
def exits_reported(on_exit: OnExit) -> Iterator[None]:
    """Have ``on_exit`` called, on any thread, if Java code calls ``System.exit`` within the block.

    Its argument is the method that has called it, None if that is not known. The process goes on for as long as
    ``on_exit`` takes, but for seconds only.
    """
    _listeners.append(on_exit)
    try:
        yield
    finally:
        _listeners.remove(on_exit)


def report_exit(caller: str | None) -> None:
    """Tell all that wait for it that Java code has called ``System.exit``."""
    for on_exit in tuple(_listeners):
        on_exit(caller)


def knows_exit_status() -> bool:
    """Return True if ``write_exit_status`` has an effect: the C library is glibc."""
    return hasattr(ctypes.CDLL(None), "on_exit")


def write_exit_status(descriptor: int) -> None:
    """Have a byte, the status, written to ``descriptor`` if this process calls C's ``exit``. Once in a process.

    ``Runtime.halt`` calls it too. Nothing is written by a process that is killed, by ``os._exit``, and by forks.
    """
    libc = ctypes.CDLL(None)
    libc.fdopen.restype = ctypes.c_void_p
    stream = ctypes.c_void_p(libc.fdopen(descriptor, b"w"))
    libc.setbuf(stream, None)
    # Functions of C alone: the thread that ends the process may never get Python's lock.
    libc.on_exit(libc.fputc, stream)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.register_at_fork(after_in_child=lambda: os.dup2(nowhere, descriptor, inheritable=False))
