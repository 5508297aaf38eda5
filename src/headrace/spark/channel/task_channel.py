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
from headrace.spark.channel.endpoint import ChannelListener, Endpoint, Interface, Link
from headrace.spark.channel.messages import Attach

OnAttach = Callable[["AttemptChannel", Attach], None]

log = logging.getLogger(__name__)
_RETRY_INTERVAL_S = 1.0


class AttemptChannel:
    """A connection to one process. Sending is for any thread; ``receive`` for the attempt's own."""

    def __init__(self, connection: Link) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        # Shut down to break the channel: closing a descriptor wakes no thread that waits on it; its number is reused.
        self._socket = socket.socket(fileno=os.dup(connection.fileno()))
        self.closed = threading.Event()
        """Set when the process has ended, or was disconnected, and all its messages were received."""

    def send(self, message: object) -> bool:
        """Send a message; return False if the process cannot be reached any more."""
        try:
            with self._sending:
                self._connection.send(message)
        except (OSError, ValueError):
            return False
        return True

    def receive(self) -> Any:
        """Return the next message; None when the process is gone."""
        try:
            return self._connection.recv()
        except (EOFError, OSError):
            return None

    def break_off(self) -> None:
        """Break the channel: a living process ends itself then. Wakes ``receive``. Any thread."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the worker's end. On the thread that receives, last."""
        with self._sending:
            self._connection.close()
        self._socket.close()
        self.closed.set()


class TaskChannels:
    """The listener for tasks' processes; each is served by ``on_attach`` on a thread that ends with the connection."""

    def __init__(self, place: Path | Interface, on_attach: OnAttach) -> None:
        """``place`` is a directory that only this user may enter (0700), or an interface that other machines reach.

        Raises:
            ConfigError: the address cannot be bound.
        """
        self._on_attach = on_attach
        self._listener = ChannelListener(place / "tasks.sock" if isinstance(place, Path) else place)
        self._stopping = threading.Event()

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint that processes connect to."""
        return self._listener.endpoint

    def start(self) -> None:
        ServiceThread("task-channels", self._accept, "no task can start").start()

    def stop(self) -> None:
        self._stopping.set()
        self._listener.close()

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                caller = self._listener.accept()
            except OSError as error:
                if not self._stopping.is_set():
                    log.warning("no process can attach: %s", error)
                    self._stopping.wait(_RETRY_INTERVAL_S)
                continue
            threading.Thread(target=self._serve, args=(caller,), daemon=True).start()

    def _serve(self, caller: socket.socket) -> None:
        # Not in accept: a process that hangs here must not delay the others.
        try:
            connection = self._listener.admit(caller)
        except (EOFError, OSError, AuthenticationError) as error:
            log.debug("a process could not attach: %s", error)
            return
        channel = AttemptChannel(connection)
        try:
            first = channel.receive()
            if isinstance(first, Attach):
                threading.current_thread().name = f"task-channel-{first.key}"
                self._on_attach(channel, first)
        finally:
            channel.close()
