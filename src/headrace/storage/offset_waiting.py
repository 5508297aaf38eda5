# SPDX-License-Identifier: Apache-2.0
"""The wait for offsets, which lasts as long as other tasks' transactions are open, and is logged."""

from __future__ import annotations

import logging
import time
from concurrent.futures import Future
from typing import Final, TypeVar

from headrace.kafka.errors import RetriableKafkaError
from headrace.storage.offset_backing_store import OffsetBackingStore

log = logging.getLogger(__name__)
_T = TypeVar("_T")
_FIRST_WORD: Final = 2.0


def await_offsets(reading: Future[_T], store: OffsetBackingStore, timeout: float, what: str) -> _T:
    """Return the answer of ``store``; log the reason of a wait of two seconds or more, ever more seldom. Blocks.

    ``what`` names the offsets in messages. Raise RetriableKafkaError, with the reason, after ``timeout`` seconds
    (invariant 3).
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
        log.warning("%s are waited for since %.0f s: %s", what, time.monotonic() - began, waiting)
        patience *= 2
