# SPDX-License-Identifier: Apache-2.0
"""The worker's end of the task channels: one listener per worker, one connection per attempt."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
from collections.abc import Callable
from multiprocessing import AuthenticationError
from pathlib import Path
from typing import Any

from headrace.model.service_threads import ServiceThread
from headrace.spark.channel.endpoint import Doorway, Endpoint, Interface, Link
from headrace.spark.channel.messages import Attach

OnAttach = Callable[["AttemptChannel", Attach], None]

_log = logging.getLogger(__name__)
_RETRY = 1.0


class AttemptChannel:
    """A connection to one process. Sending is for any thread; ``receive`` for the attempt's own."""

    def __init__(self, connection: Link) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        # Shut down to break the channel: closing a descriptor wakes nobody who waits on it, and its number is reused.
        self._socket = socket.socket(fileno=os.dup(connection.fileno()))
        self.closed = threading.Event()
        """Set when the process has ended, or was broken off, and all it had to say was heard."""

    def send(self, message: object) -> bool:
        """Whether the process could still be reached."""
        try:
            with self._sending:
                self._connection.send(message)
        except (OSError, ValueError):
            return False
        return True

    def receive(self) -> Any:
        """The next message; None when the process is gone."""
        try:
            return self._connection.recv()
        except (EOFError, OSError):
            return None

    def break_off(self) -> None:
        """Break the channel, on which a living process ends itself; wakes ``receive``. Any thread."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Let go of our end. On the thread that receives, last."""
        with self._sending:
            self._connection.close()
        self._socket.close()
        self.closed.set()


class TaskChannels:
    """Accepts processes and hands each to ``on_attach`` on a thread of its own, which ends with the connection."""

    def __init__(self, place: Path | Interface, on_attach: OnAttach) -> None:
        """``place`` is a directory that only we may enter (0700), or where processes elsewhere reach this one.

        Raises:
            ConfigError: nobody can listen there.
        """
        self._on_attach = on_attach
        self._doorway = Doorway(place / "tasks.sock" if isinstance(place, Path) else place)
        self._stopping = threading.Event()

    @property
    def endpoint(self) -> Endpoint:
        """For the processes."""
        return self._doorway.endpoint

    def start(self) -> None:
        ServiceThread("task-channels", self._accept, "no task can start").start()

    def stop(self) -> None:
        self._stopping.set()
        self._doorway.close()

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                caller = self._doorway.accept()
            except OSError as error:
                if not self._stopping.is_set():
                    _log.warning("no process can attach: %s", error)
                    self._stopping.wait(_RETRY)
                continue
            threading.Thread(target=self._serve, args=(caller,), daemon=True).start()

    def _serve(self, caller: socket.socket) -> None:
        # Not in accept: a process that hangs here must not keep the others out.
        try:
            connection = self._doorway.admit(caller)
        except (EOFError, OSError, AuthenticationError) as error:
            _log.debug("a process could not attach: %s", error)
            return
        channel = AttemptChannel(connection)
        try:
            first = channel.receive()
            if isinstance(first, Attach):
                threading.current_thread().name = f"task-channel-{first.key}"
                self._on_attach(channel, first)
        finally:
            channel.close()
