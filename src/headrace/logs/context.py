# SPDX-License-Identifier: Apache-2.0
"""The connector or task that a log line is about. Java: ``LoggingContext`` (KIP-449)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeVar

from headrace.model.ids import ConnectorTaskId

T = TypeVar("T")

_current: ContextVar[str] = ContextVar("connector_context", default="")


def context_of(id: str | ConnectorTaskId) -> str:
    """Return ``[connector|worker] `` for a connector's name, ``[connector|task-0] `` for a task; ends with a space."""
    return f"[{id.connector}|task-{id.task}] " if isinstance(id, ConnectorTaskId) else f"[{id}|worker] "


def current_context() -> str:
    """Return the context of the calling thread as ``context_of`` does; empty without one."""
    return _current.get()


@contextmanager
def log_context(id: str | ConnectorTaskId) -> Iterator[None]:
    """Mark lines that this thread logs meanwhile as about the connector or task."""
    token = _current.set(context_of(id))
    try:
        yield
    finally:
        _current.reset(token)


def within(id: str | ConnectorTaskId, work: Callable[[], T]) -> Callable[[], T]:
    """Return ``work`` in the context of the connector or task, for another thread: contexts are not inherited."""

    def run() -> T:
        with log_context(id):
            return work()

    return run


def in_same_context(work: Callable[[], T]) -> Callable[[], T]:
    """Return ``work`` in the context of the calling thread, for another thread."""
    context = _current.get()

    def run() -> T:
        token = _current.set(context)
        try:
            return work()
        finally:
            _current.reset(token)

    return run


class ContextFilter(logging.Filter):
    """A handler's filter, on the thread that logs, that gives each record its ``connector_context``."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the context, unless the record has one already; never drop a record."""
        if not hasattr(record, "connector_context"):
            record.connector_context = _current.get()
        return True


CONTEXT: Final = ContextFilter()
