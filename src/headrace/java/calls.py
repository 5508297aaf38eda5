# SPDX-License-Identifier: Apache-2.0
"""Calls between a worker and a host of Java, in both directions over one connection that no other process can reach."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from headrace.api.error_text import error_line, error_text, error_trace, set_trace
from headrace.api.errors import ConfigError, ConnectError, DataError, RetriableError
from headrace.model.process_end import ExitCalled

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    Link: TypeAlias = Connection[Any, Any]

Work: TypeAlias = Callable[[], None]
Request: TypeAlias = Callable[..., Future[Any]]
"""Calls a method of the other end, by its name, with arguments."""
_KINDS: Final = {
    kind.__name__: kind for kind in (ConnectError, ConfigError, DataError, RetriableError, NotImplementedError)
}
"""Errors that are of the same type at both ends, as callers decide by it."""


@dataclass(frozen=True, slots=True)
class HostStart:
    """The first message to a host: the worker's ``sys.path``, the jars of its connectors, its threads, JVM options."""

    module_path: tuple[str, ...]
    jars: tuple[Path, ...]
    threads: int
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fault:
    """An error as a message; ``name`` is a ConfigError's property."""

    kind: str
    text: str
    trace: str
    name: str | None = None

    @classmethod
    def of(cls, error: BaseException) -> Fault:
        """Return the message for an error."""
        kind = next((each.__name__ for each in type(error).__mro__ if each.__name__ in _KINDS), None)
        text = error_line(error) if kind is None else error_text(error)
        name = error.name if isinstance(error, ConfigError) else None
        return cls(kind or ConnectError.__name__, text, error_trace(error), name)

    def error(self) -> Exception:
        """Return the error to raise at this end, whose stack trace is that of the other end."""
        kind = _KINDS[self.kind]
        error = ConfigError(self.text, self.name) if kind is ConfigError else kind(self.text)
        set_trace(error, self.trace.rstrip())
        return error


@dataclass(frozen=True, slots=True)
class HostUp:
    """The first message of a host: its JVM runs, or cannot be started."""

    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A request; its answer has the same number."""

    number: int
    method: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a call, or its error."""

    number: int
    value: Any = None
    fault: Fault | None = None


class DisconnectedError(ConnectError):
    """The process at the other end is gone."""


class Calls:
    """One end of a connection. Thread-safe; ``serve`` has a thread of its own."""

    def __init__(self, link: Link, execute: Callable[[Work], object]) -> None:
        """``execute`` does work on another thread: calls of the other end, in their order."""
        self._link = link
        self._execute = execute
        self._sending = threading.Lock()
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._waiting: dict[int, Future[Any]] = {}
        self._over = False
        self.exit_called: ExitCalled | None = None
        """The last message of the other end, if Java code has ended it."""

    def report_exit(self, caller: str | None) -> None:
        """Tell the other end that Java code has called ``System.exit``. Any thread."""
        with suppress(OSError):
            self._send(ExitCalled(caller))

    def request(self, method: str, *arguments: object) -> Future[Any]:
        """Call a method of the other end. The future raises its error, or DisconnectedError."""
        answer: Future[Any] = Future()
        with self._lock:
            if self._over:
                answer.set_exception(DisconnectedError(f"{method} was not called"))
                return answer
            number = next(self._numbers)
            self._waiting[number] = answer
        try:
            self._send(Call(number, method, arguments))
        except OSError:
            self._fail(number, DisconnectedError(f"{method} was not called"))
        except Exception as error:  # an argument that cannot be sent
            self._fail(number, error)
        return answer

    def serve(self, receiver: object) -> None:
        """Have the other end call methods of ``receiver``, until it is gone."""
        try:
            while True:
                message = self._link.recv()
                if isinstance(message, Call):
                    self._execute(lambda call=message: self._answer(receiver, call))  # type: ignore[misc]
                elif isinstance(message, ExitCalled):
                    self.exit_called = message
                else:
                    self._on_answer(message)
        except (EOFError, OSError):
            pass
        finally:
            self._end()

    def _answer(self, receiver: object, call: Call) -> None:
        try:
            answer = Answer(call.number, getattr(receiver, call.method)(*call.arguments))
        except BaseException as error:  # the other end waits, whatever it is
            answer = Answer(call.number, fault=Fault.of(error))
        with suppress(OSError):
            try:
                self._send(answer)
            except OSError:
                raise
            except Exception as error:  # a result that cannot be sent
                self._send(Answer(call.number, fault=Fault.of(error)))

    def _send(self, message: Call | Answer | ExitCalled) -> None:
        with self._sending:
            self._link.send(message)

    def _on_answer(self, answer: Answer) -> None:
        if answer.fault is not None:
            self._fail(answer.number, answer.fault.error())
        elif (waiting := self._taken(answer.number)) is not None:
            waiting.set_result(answer.value)

    def _fail(self, number: int, error: BaseException) -> None:
        if (waiting := self._taken(number)) is not None:
            waiting.set_exception(error)

    def _taken(self, number: int) -> Future[Any] | None:
        with self._lock:
            return self._waiting.pop(number, None)

    def _end(self) -> None:
        with self._lock:
            self._over = True
            left, self._waiting = self._waiting, {}
        for waiting in left.values():
            waiting.set_exception(DisconnectedError("the process of the call is gone"))
        with self._sending:
            self._link.close()
