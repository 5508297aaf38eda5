# SPDX-License-Identifier: Apache-2.0
"""Waiting for offsets: it may take as long as other tasks' transactions are open, and nobody should have to guess."""

from __future__ import annotations

import logging
import time
from concurrent.futures import Future
from typing import Final, TypeVar

from headrace.kafka.errors import RetriableKafkaError
from headrace.storage.offset_backing_store import OffsetBackingStore

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
_FIRST_WORD: Final = 2.0


def await_offsets(reading: Future[_T], store: OffsetBackingStore, timeout: float, what: str) -> _T:
    """The answer of ``store``. Past two seconds, and ever more seldom, the log says what ``what`` waits for.

    RetriableKafkaError, which says so too, after ``timeout`` seconds. Blocks (invariant 3).
    """
    began, patience = time.monotonic(), _FIRST_WORD
    while True:
        left = began + timeout - time.monotonic()
        try:
            return reading.result(max(0.0, min(patience, left)))
        except TimeoutError:
            if reading.done():
                raise
        waiting = store.waiting_for() or "the offsets topic"
        if time.monotonic() >= began + timeout:
            raise RetriableKafkaError(f"{what} were not read in {timeout:g} s: waiting for {waiting}")
        _log.warning("%s are waited for since %.0f s: %s", what, time.monotonic() - began, waiting)
        patience *= 2
