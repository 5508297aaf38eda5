# SPDX-License-Identifier: Apache-2.0
"""Connectors of numbered records (tests/plugins), and exactly-once delivery, checked offset by offset."""

from __future__ import annotations

import json

from tests.support.topics import committed_offsets, values, wait_for_values
from tests.support.worker_process import WorkerProcess

NUMBERED = "numbered_source.NumberedSourceConnector"


def create_numbered(worker: WorkerProcess, name: str, count: int, **more: str) -> None:
    """A connector whose one task writes `count` numbers to a topic of the connector's name."""
    worker.create(name, **{"connector.class": NUMBERED, "tasks.max": "1", "topic": name, "count": str(count), **more})


def assert_exactly_once(bootstrap: str, topic: str, count: int, offsets_topic: str, connector: str) -> None:
    """Numbers 0 to ``count`` - 1, each once and in order, and the last committed offset is the last visible record."""
    seen = wait_for_values(bootstrap, topic, count, 90)
    assert_contiguous(seen, count)
    offsets = committed_offsets(bootstrap, offsets_topic, connector)
    assert offsets[json.dumps({"id": "0"}, sort_keys=True)] == {"seqno": count - 1}
    # Nothing comes after the last one either.
    assert len(values(bootstrap, topic)) == count


def assert_contiguous(seen: list[bytes | None], count: int) -> None:
    wrong = [(place, value) for place, value in enumerate(seen) if value != b"%d" % place]
    assert not wrong, f"{len(wrong)} of {len(seen)} records are not where they belong, the first at {wrong[:3]}"
    assert len(seen) == count
