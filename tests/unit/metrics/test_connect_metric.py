# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import tracemalloc

from headrace.metrics.connect_metric import tagged, untagged

CONNECTORS, NAMES = 2000, 30


def test_a_tagged_name_is_read_again() -> None:
    name = tagged("group", "records-lag", client_id="a b&c", topic="t", partition="")
    assert untagged(name) == ("group", "records-lag", {"client-id": "a b&c", "topic": "t", "partition": ""})
    assert untagged("records") is None


def test_little_is_kept_of_the_figures_of_former_connectors() -> None:
    tracemalloc.start()
    try:
        for connector in range(CONNECTORS):
            for number in range(NAMES):
                untagged(tagged("producer-metrics", f"figure-{number}", client_id=f"connector-producer-{connector}-0"))
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept / CONNECTORS < 2000
