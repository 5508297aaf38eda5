# SPDX-License-Identifier: Apache-2.0
"""The W3C trace contexts of a batch of records, which are in their header ``traceparent``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

TRACEPARENT: Final = "traceparent"
_MOST: Final = 32
"""A span with more links is of no use; a batch has up to thousands of records."""
_LONGEST: Final = 64


def traceparents(headers: Iterable[Sequence[tuple[str, bytes | None]] | None], most: int = _MOST) -> list[str]:
    """Return the different contexts of records with these raw headers, in order, up to ``most``.

    Only for batches that are sampled. JsonConverter writes a text in quotes, which are removed.
    """
    found: dict[bytes, None] = {}
    for each in headers:
        for name, value in each or ():
            if name == TRACEPARENT and value is not None and len(value) <= _LONGEST:
                found[value] = None
                break
        if len(found) >= most:
            break
    return [value.decode("ascii", "replace").strip('"') for value in found]
