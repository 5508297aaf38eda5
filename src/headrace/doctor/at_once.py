# SPDX-License-Identifier: Apache-2.0
"""Calls on threads of their own, which a hanging one neither holds up nor keeps from ending."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def call_all(call: Callable[[_Item], _Result], items: Sequence[_Item], seconds: float, late: _Result) -> list[_Result]:
    """Call ``call`` with all items at once, and return the results in their order; ``late`` for one that takes longer.

    ``call`` must not raise. Blocks for ``seconds`` at most. Not an executor: Python waits for its threads at the exit,
    and a look-up of a name can hang for minutes.
    """
    results = [late] * len(items)

    def run(index: int) -> None:
        results[index] = call(items[index])

    threads = [threading.Thread(target=run, args=(index,), daemon=True) for index in range(len(items))]
    deadline = time.monotonic() + seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return list(results)
