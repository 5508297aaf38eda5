# SPDX-License-Identifier: Apache-2.0
"""The header of a record that was redriven: of which connector it was a dead letter, how often, and where.

It stays with the record, also in the dead letter that it may become again, so that it does not go round without limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import orjson

REDRIVEN: Final = "headrace.redriven"
Header = tuple[str, bytes | None]


def redriven_count(headers: Iterable[Header], connector: str) -> int:
    """Return how often the record was redriven as a dead letter of ``connector``; 0 without a header that says so."""
    counts = [_count(value, connector) for name, value in headers if name == REDRIVEN]
    return max(counts, default=0)


def with_redriven(headers: Sequence[Header], connector: str, topic: str, partition: int, offset: int) -> list[Header]:
    """Return the headers with one for one more redrive of the letter at that position; other connectors' stay."""
    count = redriven_count(headers, connector) + 1
    mark = {"connector": connector, "count": count, "topic": topic, "partition": partition, "offset": offset}
    kept = [header for header in headers if header[0] != REDRIVEN or not _count(header[1], connector)]
    return [*kept, (REDRIVEN, orjson.dumps(mark))]


def redriven_headers(headers: Iterable[Header]) -> list[Header]:
    """Return those of ``headers`` that say that the record was redriven."""
    return [header for header in headers if header[0] == REDRIVEN]


def _count(value: bytes | None, connector: str) -> int:
    """Return the count of a header's value; 0 for one of another connector, and for what headrace has not written."""
    try:
        mark = orjson.loads(value or b"")
    except orjson.JSONDecodeError:
        return 0
    if not isinstance(mark, dict) or mark.get("connector") != connector:
        return 0
    count = mark.get("count")
    return count if type(count) is int and count > 0 else 0
