# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from headrace.model.futures import done_future, failed_future, recover_future


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
