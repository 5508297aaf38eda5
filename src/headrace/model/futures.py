# SPDX-License-Identifier: Apache-2.0
"""Futures that have ended, and futures made of futures, without a thread that waits for any."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")
U = TypeVar("U")


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


def map_future(future: Future[T], change: Callable[[T], U]) -> Future[U]:
    """Return a future of ``change`` of the result. It runs on the thread that ends ``future`` and must be quick."""
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


def chain_future(future: Future[T], follow: Callable[[T], Future[U]]) -> Future[U]:
    """Return a future that ends as the one that ``follow`` returns for the result."""
    result: Future[U] = Future()

    def ended(_: Future[T]) -> None:
        _end_as(result, lambda: follow(future.result()))

    future.add_done_callback(ended)
    return result


def recover_future(future: Future[T], kind: type[Exception], follow: Callable[[], Future[T]]) -> Future[T]:
    """Return a future that ends as ``future``, or as that of ``follow`` after an error of that kind."""
    result: Future[T] = Future()

    def ended(_: Future[T]) -> None:
        if isinstance(future.exception(), kind):
            _end_as(result, follow)
        else:
            _copy(future, result)

    future.add_done_callback(ended)
    return result


def all_of(futures: Sequence[Future[Any]]) -> Future[None]:
    """Return a future that ends when all have ended; with the first error in their order, if there is one."""
    result: Future[None] = Future()
    left = max(1, len(futures))
    lock = threading.Lock()

    def ended(_: Future[Any] | None) -> None:
        nonlocal left
        with lock:
            left -= 1
            if left > 0:
                return
        error = next((e for future in futures if (e := future.exception()) is not None), None)
        _end(result, error=error)

    if not futures:
        ended(None)
    for future in futures:
        future.add_done_callback(ended)
    return result


def _end_as(target: Future[U], follow: Callable[[], Future[U]]) -> None:
    """End ``target`` as the future that ``follow`` returns, or with the error that it raises."""
    try:
        source = follow()
    except BaseException as error:
        _end(target, error=error)
    else:
        source.add_done_callback(lambda _: _copy(source, target))


def _copy(source: Future[U], target: Future[U]) -> None:
    """End ``target`` as ``source`` has ended."""
    error = source.exception()
    if error is not None:
        _end(target, error=error)
    else:
        _end(target, value=source.result())


def _end(target: Future[U], value: U | None = None, error: BaseException | None = None) -> None:
    """Set the outcome; a cancelled future stays as it is."""
    if not target.set_running_or_notify_cancel():
        return
    if error is not None:
        target.set_exception(error)
    else:
        target.set_result(value)  # type: ignore[arg-type]
