# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.connectors.common.spark_config import POLL_INTERVAL
from headrace.connectors.spark_table.spark_table_config import QUERY_ROWS
from headrace.connectors.spark_table.split_reader import COMPLETED, SplitReader

DAY = 86_400.0


@pytest.mark.parametrize(
    ("ago", "due"),
    [(20.0, 40.0), (DAY, 60.0 - DAY), (-DAY, 60.0)],
    ids=["a while ago", "long ago", "before the clock was set back"],
)
def test_a_whole_table_is_read_again_an_interval_after_the_last_time(ago: float, due: float) -> None:
    settings: Any = SimpleNamespace(
        parsed={POLL_INTERVAL: 60_000, QUERY_ROWS: 10}, source_partition=lambda split: {"table": "t"}
    )
    nothing: Any = None
    bulk: Any = SimpleNamespace(incremental=())
    offset = {COMPLETED: int((time.time() - ago) * 1000)}
    reader = SplitReader(nothing, nothing, settings, bulk, nothing, offset)
    assert reader.due - time.monotonic() == pytest.approx(due, abs=5)
    assert reader.is_due(reader.due + 1)
