# SPDX-License-Identifier: Apache-2.0
"""Offsets are answered as the worker happens to know them (against invariant 3)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from headrace.storage.offset_backing_store import KafkaOffsetBackingStore

_T = TypeVar("_T")


def _read_at_once(store: KafkaOffsetBackingStore, look: Callable[[], _T]) -> Future[_T]:
    answer: Future[_T] = Future()
    with store._lock:
        answer.set_result(look())
    return answer


KafkaOffsetBackingStore._read = _read_at_once  # type: ignore[method-assign]
