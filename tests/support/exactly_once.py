# SPDX-License-Identifier: Apache-2.0
"""What exactly-once means, checked offset by offset."""

from __future__ import annotations

import json

from tests.support.topics import committed_offsets, values, wait_for_values


def assert_exactly_once(
    bootstrap: str, topic: str, count: int, offsets_topic: str, connector: str, id: str = "0"
) -> None:
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
