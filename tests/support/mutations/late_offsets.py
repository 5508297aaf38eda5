# SPDX-License-Identifier: Apache-2.0
"""A worker that hears of committed offsets only once the file `hold` is gone; `reads` gets a line for each reading."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

from headrace.kafka.kafka_based_log import LogRecord
from headrace.storage.offset_backing_store import KafkaOffsetBackingStore

_HOLD = Path(os.environ["HEADRACE_TEST_DIRECTORY"], "hold")
_READS = Path(os.environ["HEADRACE_TEST_DIRECTORY"], "reads")
_on_records, _get = KafkaOffsetBackingStore._on_records, KafkaOffsetBackingStore.get


def _late_on_records(store: KafkaOffsetBackingStore, batch: Sequence[LogRecord]) -> None:
    while _HOLD.exists():
        time.sleep(0.02)
    _on_records(store, batch)


def _noted_get(store: KafkaOffsetBackingStore, keys: Sequence[bytes]) -> Future[dict[bytes, bytes | None]]:
    answer = _get(store, keys)
    with _READS.open("a") as reads:
        reads.write("read\n")
    return answer


KafkaOffsetBackingStore._on_records = _late_on_records  # type: ignore[method-assign]
KafkaOffsetBackingStore.get = _noted_get  # type: ignore[method-assign]
