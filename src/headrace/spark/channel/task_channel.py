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
from queue import SimpleQueue
from typing import Any, Final

from headrace.model.service_threads import ServiceThread
from headrace.spark.channel.endpoint import ChannelListener, Endpoint, Interface, Link
from headrace.spark.channel.messages import Attach

OnAttach = Callable[["AttemptChannel", Attach], None]

log = logging.getLogger(__name__)
_RETRY_INTERVAL_S = 1.0
_LAST: Final = object()
"""Ends the messages of a channel."""
_LAST_MESSAGES_S: Final = 5.0
"""Seconds that a process has to take the last messages."""


class AttemptChannel:
    """A connection to one process. ``send`` is for any thread; ``receive`` and ``close`` for the attempt's own.

    A thread of its own writes: a process that hangs takes no messages, and must not delay the thread that kills it.
    """

    def __init__(self, connection: Link) -> None:
        self._connection = connection
        self._outbox: SimpleQueue[object] = SimpleQueue()
        self._writer = threading.Thread(target=self._write, name="task-channel-writer", daemon=True)
        self._writer.start()
        # Shut down to break the channel: closing a descriptor wakes no thread that waits on it; its number is reused.
        self._socket = socket.socket(fileno=os.dup(connection.fileno()))
        self._printed: int | None = None
        self._status: int | None = None
        self.closed = threading.Event()
        """Set when the process has ended, or was disconnected, and all its messages were received."""

    def send(self, message: object) -> None:
        """Have a message written, after those of former calls, if the process is still there. Does not block."""
        self._outbox.put(message)

    def receive(self) -> Any:
        """Return the next message; None when the process is gone."""
        try:
            return self._connection.recv()
        except (EOFError, OSError):
            return None

    def receive_pipes(self) -> None:
        """Receive the pipes of what the process prints, and of its exit status. OSError if it has ended."""
        flags = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
        _, descriptors, _, _ = socket.recv_fds(self._socket, 1, 2, flags)
        self._printed, self._status, *_ = *descriptors, None, None

    def take_printed(self) -> int | None:
        """Return the descriptor, which the caller has to close; None if there is none, or it was taken."""
        printed, self._printed = self._printed, None
        return printed

    @property
    def knows_exit_status(self) -> bool:
        """True if ``exit_status`` is known of a process that has exited."""
        return self._status is not None

    def exit_status(self) -> int | None:
        """Return the status of a process that is gone; None if it was killed, or it is not known. Once."""
        if self._status is None:
            return None
        os.set_blocking(self._status, False)
        with contextlib.suppress(BlockingIOError):  # a child that it forked still lives
            if status := os.read(self._status, 1):
                return status[0]
        return None

    def break_off(self) -> None:
        """Break the channel: a living process ends itself then. Wakes ``receive``. Any thread."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the worker's end, once all messages are written; blocks for some seconds at most."""
        self._outbox.put(_LAST)
        self._writer.join(_LAST_MESSAGES_S)
        self.break_off()
        self._writer.join()
        self._connection.close()
        self._socket.close()
        for pipe in (self.take_printed(), self._status):
            if pipe is not None:
                os.close(pipe)
        self.closed.set()

    def _write(self) -> None:
        while (message := self._outbox.get()) is not _LAST:
            try:
                self._connection.send(message)
            except (OSError, ValueError):
                return  # the process is gone, which ``receive`` notices
            except Exception:
                log.exception("%s could not be sent to a task's process", type(message).__name__)


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
                if first.prints:
                    channel.receive_pipes()
                self._on_attach(channel, first)
        finally:
            channel.close()
