# SPDX-License-Identifier: Apache-2.0
"""Which connector or task a log line is about. Java: ``LoggingContext`` (KIP-449)."""

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
    """``[connector|worker] `` for a connector by its name, ``[connector|task-0] `` for a task; ends with a space."""
    return f"[{id.connector}|task-{id.task}] " if isinstance(id, ConnectorTaskId) else f"[{id}|worker] "


@contextmanager
def log_context(id: str | ConnectorTaskId) -> Iterator[None]:
    """What this thread logs meanwhile is about the connector or task."""
    token = _current.set(context_of(id))
    try:
        yield
    finally:
        _current.reset(token)


def within(id: str | ConnectorTaskId, work: Callable[[], T]) -> Callable[[], T]:
    """``work`` in the context of the connector or task, for another thread: contexts are not inherited."""

    def run() -> T:
        with log_context(id):
            return work()

    return run


class ContextFilter(logging.Filter):
    """For a handler, where it runs on the thread that logs: gives each record its ``connector_context``."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Never drops a record; one that says itself what it is about keeps that."""
        if not hasattr(record, "connector_context"):
            record.connector_context = _current.get()
        return True


CONTEXT: Final = ContextFilter()
