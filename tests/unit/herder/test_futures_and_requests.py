# SPDX-License-Identifier: Apache-2.0
"""The futures of requests to the herder."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from headrace.herder.engine.herder_inbox import PendingRequests


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
    requests.close(RuntimeError("stopping"))
    late: Future[int] = Future()
    requests.add(late)
    for future in (waiting, late):
        with pytest.raises(RuntimeError, match="stopping"):
            future.result(0)
