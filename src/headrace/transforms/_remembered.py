# SPDX-License-Identifier: Apache-2.0
"""Results of a function that are looked up once for each record, where `functools.lru_cache` is too slow."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Remembered(dict[K, V]):
    """The function's results by its argument; all are forgotten when there are `most`. What it raises is not kept."""

    def __init__(self, function: Callable[[K], V], most: int) -> None:
        super().__init__()
        self._function = function
        self._most = most

    def __missing__(self, key: K) -> V:
        result = self._function(key)
        if len(self) >= self._most:
            self.clear()
        self[key] = result
        return result


__all__ = ["Remembered"]
