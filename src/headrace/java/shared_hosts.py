# SPDX-License-Identifier: Apache-2.0
"""Hosts for calls of Java connectors that are not started: one for each set of jars, while it is needed."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import Context
from pathlib import Path
from typing import Any, Final, TypeAlias

from headrace.java.host import HangingCallError, Host, HostEndedError

Jars: TypeAlias = tuple[Path, ...]
IDLE_S: Final = 20.0
_THREADS: Final = 8
"""Calls that one host does at a time."""


class _SharedHost:
    """A host that its first user starts, and that ends when it has had no user for a while."""

    def __init__(self, jars: Jars, idle_s: float) -> None:
        self._jars = jars
        self._idle_s = idle_s
        self._lock = threading.Lock()
        self._starting = threading.Lock()
        self._host: Host | None = None
        self._users = 0
        self._rests = 0
        self._ended = False

    @property
    def running(self) -> Host | None:
        """The host, if it is started and has not ended."""
        host = self._host
        return host if host is not None and host.alive else None

    def borrow(self) -> bool:
        """Count one user more. Return False if it has ended."""
        with self._lock:
            self._ended = self._ended or (self._host is not None and not self._host.alive)
            self._users += not self._ended
            return not self._ended

    def host(self) -> Host:
        """Return the host, for a user."""
        with self._starting:
            if self._host is None:
                about = f"Java plugins in {self._jars[0].parent}" if self._jars else "Kafka Connect's own plugins"
                # In an empty context: what it prints is not about the connector of its first user alone.
                self._host = Context().run(lambda: Host(about, self._jars, threads=_THREADS))
            return self._host

    def give_back(self) -> None:
        """Count one user less."""
        with self._lock:
            self._users -= 1
            self._rests += 1
            timer = threading.Timer(self._idle_s, self._end_if_idle, (self._rests,))
        timer.daemon = True
        timer.start()

    def _end_if_idle(self, rest: int) -> None:
        with self._lock:
            if self._users or rest != self._rests:
                return
            self._ended = True
        if self._host is not None:
            self._host.end()


class SharedHosts:
    """The hosts of a process, and the results of calls that never differ. Thread-safe."""

    def __init__(self, idle_s: float = IDLE_S) -> None:
        """Create it without hosts. One that is not used for ``idle_s`` seconds ends."""
        self._idle_s = idle_s
        self._lock = threading.Lock()
        self._hosts: dict[Hashable, _SharedHost] = {}
        self._results: dict[Hashable, Any] = {}

    def call(self, jars: Jars, method: str, *arguments: object, timeout: float, shown: str) -> Any:
        """Call a method of ``HostedConnectors``, as ``Host.call`` does.

        If its host ends by no fault of this call, as when another one hangs, it is called once more in a new host.
        """
        try:
            return self._call(jars, method, arguments, timeout, shown)
        except HangingCallError:
            raise
        except HostEndedError:
            return self._call(jars, method, arguments, timeout, shown)

    def call_once(self, jars: Jars, method: str, class_name: str, timeout: float, shown: str) -> Any:
        """Call a method that returns the same for the same jars, unless an earlier call has its result."""
        key = (method, class_name, _identity(jars))
        with self._lock:
            if key in self._results:
                return self._results[key]
        result = self.call(jars, method, class_name, timeout=timeout, shown=shown)
        with self._lock:
            return self._results.setdefault(key, result)

    def running(self) -> list[Host]:
        """Return the hosts that have not ended."""
        with self._lock:
            return [host for shared in self._hosts.values() if (host := shared.running) is not None]

    def _call(self, jars: Jars, method: str, arguments: tuple[object, ...], timeout: float, shown: str) -> Any:
        with self._borrowed(jars) as host:
            return host.call(method, *arguments, timeout=timeout, shown=shown)

    @contextmanager
    def _borrowed(self, jars: Jars) -> Iterator[Host]:
        key = _identity(jars)
        with self._lock:
            shared = self._hosts.get(key)
            if shared is None or not shared.borrow():
                shared = self._hosts[key] = _SharedHost(jars, self._idle_s)
                shared.borrow()
        try:
            yield shared.host()
        finally:
            shared.give_back()


SHARED: Final = SharedHosts()
"""Those of this process."""


def _identity(jars: Jars) -> Hashable:
    """Return what differs when a jar has been replaced by another one."""
    files = [(jar, jar.stat()) for jar in jars]
    return tuple((jar, file.st_mtime_ns, file.st_size) for jar, file in files)
