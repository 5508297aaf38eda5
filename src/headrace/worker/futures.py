# SPDX-License-Identifier: Apache-2.0
"""Futures that have ended already."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


def done_future(result: T) -> Future[T]:
    """Return a future that has ended with ``result``."""
    future: Future[T] = Future()
    future.set_result(result)
    return future


def failed_future(error: BaseException) -> Future[Any]:
    """Return a future that has ended with ``error``."""
    future: Future[Any] = Future()
    future.set_exception(error)
    return future
