# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from concurrent.futures import Future

import pytest

from headrace.model.futures import chain_future, done_future, failed_future, map_future, recover_future


def test_a_result_is_passed_on() -> None:
    assert recover_future(done_future(1), ValueError, lambda: done_future(2)).result(0) == 1


def test_another_try_after_an_error_of_that_kind_alone() -> None:
    assert recover_future(failed_future(ValueError("x")), ValueError, lambda: done_future(2)).result(0) == 2
    with pytest.raises(KeyError):
        recover_future(failed_future(KeyError("x")), ValueError, lambda: done_future(2)).result(0)


def test_errors_of_the_other_try() -> None:
    with pytest.raises(KeyError):
        recover_future(failed_future(ValueError("x")), ValueError, lambda: failed_future(KeyError("y"))).result(0)

    def raises() -> None:
        raise KeyError("z")

    with pytest.raises(KeyError, match="z"):
        recover_future(failed_future(ValueError("x")), ValueError, raises).result(0)


def test_mapped_changes_results_and_passes_errors_on() -> None:
    first: Future[int] = Future()
    second = map_future(first, lambda value: value + 1)
    first.set_result(1)
    assert second.result(0) == 2
    failed: Future[int] = Future()
    after = map_future(failed, lambda value: value + 1)
    failed.set_exception(ValueError("x"))
    with pytest.raises(ValueError, match="x"):
        after.result(0)


def test_chained_ends_as_the_second_does() -> None:
    first: Future[int] = Future()
    second: Future[str] = Future()
    both = chain_future(first, lambda value: second)
    first.set_result(1)
    assert not both.done()
    second.set_exception(ValueError("late"))
    with pytest.raises(ValueError, match="late"):
        both.result(0)
