# SPDX-License-Identifier: Apache-2.0
"""Futures that the herder hands out."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from headrace.distributed.chained_futures import chained, mapped
from headrace.distributed.pending_requests import PendingRequests


def test_mapped_changes_results_and_passes_errors_on() -> None:
    first: Future[int] = Future()
    second = mapped(first, lambda value: value + 1)
    first.set_result(1)
    assert second.result(0) == 2
    failed: Future[int] = Future()
    after = mapped(failed, lambda value: value + 1)
    failed.set_exception(ValueError("x"))
    with pytest.raises(ValueError, match="x"):
        after.result(0)


def test_chained_ends_as_the_second_does() -> None:
    first: Future[int] = Future()
    second: Future[str] = Future()
    both = chained(first, lambda value: second)
    first.set_result(1)
    assert not both.done()
    second.set_exception(ValueError("late"))
    with pytest.raises(ValueError, match="late"):
        both.result(0)


def test_a_request_ends_once_and_may_be_given_up() -> None:
    requests = PendingRequests()
    kept: Future[int] = Future()
    given_up: Future[int] = Future()
    numbers = [requests.add(kept), requests.add(given_up)]
    given_up.cancel()
    for number in (*numbers, numbers[0], 99):
        requests.succeed(number, 7)
    assert kept.result(0) == 7 and given_up.cancelled()


def test_all_requests_fail_with_the_herder() -> None:
    requests = PendingRequests()
    waiting: Future[int] = Future()
    requests.add(waiting)
    requests.fail_all(RuntimeError("stopping"))
    with pytest.raises(RuntimeError, match="stopping"):
        waiting.result(0)
