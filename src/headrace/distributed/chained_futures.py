# SPDX-License-Identifier: Apache-2.0
"""Futures made of futures, without a thread that waits for any."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


def mapped(future: Future[T], change: Callable[[T], U]) -> Future[U]:
    """Ends with ``change`` of the result; ``change`` runs on the thread that ends ``future`` and must be quick."""
    result: Future[U] = Future()

    def ended(_: Future[T]) -> None:
        try:
            changed = change(future.result())
        except BaseException as error:
            _end(result, error=error)
        else:
            _end(result, value=changed)

    future.add_done_callback(ended)
    return result


def chained(future: Future[T], follow: Callable[[T], Future[U]]) -> Future[U]:
    """Ends as the future that ``follow`` makes of the result."""
    result: Future[U] = Future()

    def ended(_: Future[T]) -> None:
        try:
            second = follow(future.result())
        except BaseException as error:
            _end(result, error=error)
        else:
            second.add_done_callback(lambda _: _copy(second, result))

    future.add_done_callback(ended)
    return result


def otherwise(future: Future[T], kind: type[Exception], follow: Callable[[], Future[T]]) -> Future[T]:
    """Ends as ``future``, or as the one that ``follow`` makes if it fails with an error of that kind."""
    result: Future[T] = Future()

    def ended(_: Future[T]) -> None:
        if not isinstance(future.exception(), kind):
            _copy(future, result)
            return
        try:
            second = follow()
        except BaseException as error:
            _end(result, error=error)
        else:
            second.add_done_callback(lambda _: _copy(second, result))

    future.add_done_callback(ended)
    return result


def _copy(source: Future[U], target: Future[U]) -> None:
    error = source.exception()
    if error is not None:
        _end(target, error=error)
    else:
        _end(target, value=source.result())


def _end(target: Future[U], value: U | None = None, error: BaseException | None = None) -> None:
    """A future that its holder has given up stays as it is."""
    if not target.set_running_or_notify_cancel():
        return
    if error is not None:
        target.set_exception(error)
    else:
        target.set_result(value)  # type: ignore[arg-type]
