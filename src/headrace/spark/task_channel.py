# SPDX-License-Identifier: Apache-2.0
"""The worker's end of the task channels: one listener per worker, one connection per attempt."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from typing import Any

from headrace.spark.messages import Attach

Address = str | tuple[str, int]
OnAttach = Callable[["AttemptChannel", Attach], None]

_log = logging.getLogger(__name__)


class AttemptChannel:
    """A connection to one process. Sending is for any thread; ``receive`` for the attempt's own."""

    def __init__(self, connection: Connection[Any, Any]) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        self.closed = threading.Event()
        """Set when the process has let go of its end: it has ended, or was told to."""

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

    def close(self) -> None:
        """Break the channel, on which a living process ends itself; wakes ``receive``."""
        with self._sending:
            self._connection.close()


class TaskChannels:
    """Accepts processes and hands each to ``on_attach`` on a thread of its own, which ends with the connection."""

    def __init__(self, directory: Path, on_attach: OnAttach) -> None:
        self._on_attach = on_attach
        self._authkey = os.urandom(32)
        # A Unix socket in a directory that only we may enter (0700).
        self._listener = Listener(str(directory / "tasks.sock"), family="AF_UNIX", backlog=64, authkey=self._authkey)
        self._stopping = False

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
        self._stopping = True
        self._listener.close()

    def _accept(self) -> None:
        while not self._stopping:
            try:
                connection = self._listener.accept()
            except Exception as error:
                # A process that was killed while it attached, or one that does not know the key.
                if not self._stopping:
                    _log.debug("a process could not attach: %s", error)
                continue
            threading.Thread(target=self._serve, args=(AttemptChannel(connection),), daemon=True).start()

    def _serve(self, channel: AttemptChannel) -> None:
        try:
            first = channel.receive()
            if isinstance(first, Attach):
                threading.current_thread().name = f"task-channel-{first.key}"
                self._on_attach(channel, first)
        finally:
            channel.close()
            channel.closed.set()
