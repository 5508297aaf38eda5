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
from multiprocessing.connection import Connection, Listener, answer_challenge, deliver_challenge
from pathlib import Path
from typing import Any

from headrace.spark.messages import Attach

Address = str | tuple[str, int]
OnAttach = Callable[["AttemptChannel", Attach], None]

_log = logging.getLogger(__name__)
_RETRY = 1.0


class AttemptChannel:
    """A connection to one process. Sending is for any thread; ``receive`` for the attempt's own."""

    def __init__(self, connection: Connection[Any, Any]) -> None:
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

    def __init__(self, directory: Path, on_attach: OnAttach) -> None:
        self._on_attach = on_attach
        self._authkey = os.urandom(32)
        # A Unix socket in a directory that only we may enter (0700).
        self._listener = Listener(str(directory / "tasks.sock"), family="AF_UNIX", backlog=64)
        self._stopping = threading.Event()

    @property
    def address(self) -> Address:
        address: Address = self._listener.address
        return address

    @property
    def authkey(self) -> bytes:
        return self._authkey

    def start(self) -> None:
        threading.Thread(target=self._accept, name="task-channels", daemon=True).start()

    def stop(self) -> None:
        self._stopping.set()
        self._listener.close()

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                connection = self._listener.accept()
            except Exception as error:
                if not self._stopping.is_set():
                    _log.warning("no process can attach: %s", error)
                    self._stopping.wait(_RETRY)
                continue
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: Connection[Any, Any]) -> None:
        # Not in accept: a process that hangs here must not keep the others out.
        try:
            deliver_challenge(connection, self._authkey)
            answer_challenge(connection, self._authkey)
        except (EOFError, OSError, AuthenticationError) as error:
            _log.debug("a process could not attach: %s", error)
            connection.close()
            return
        channel = AttemptChannel(connection)
        try:
            first = channel.receive()
            if isinstance(first, Attach):
                threading.current_thread().name = f"task-channel-{first.key}"
                self._on_attach(channel, first)
        finally:
            channel.close()
