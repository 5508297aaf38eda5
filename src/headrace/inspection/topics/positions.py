# SPDX-License-Identifier: Apache-2.0
"""Positions in a topic as a request's text: where to begin to read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from headrace.herder.errors import BadRequestError

BEGIN: Final = "begin"
END: Final = "end"
TAIL: Final = "tail"
_WORDS: Final = (BEGIN, END, TAIL)
_OFFSET: Final = re.compile(r"[0-9]{1,18}")
_POSITIONS: Final = re.compile(r"[0-9]{1,9}:[0-9]{1,18}(,[0-9]{1,9}:[0-9]{1,18})*")


def check_positions(text: str) -> None:
    """Raise BadRequestError unless ``text`` is a word, an offset, or as ``positions_text`` returns it."""
    if text not in _WORDS and not _OFFSET.fullmatch(text) and not _POSITIONS.fullmatch(text):
        words = ", ".join(_WORDS)
        raise BadRequestError(f"from={text:.200} is none of {words}, an offset, or positions as 0:17,1:4")


def positions_text(positions: Mapping[int, int]) -> str:
    """Return offsets by partition as ``0:17,1:4``."""
    return ",".join(f"{partition}:{offset}" for partition, offset in sorted(positions.items()))


def positions_of(text: str, bounds: Mapping[int, tuple[int, int]]) -> dict[int, int]:
    """Return the offsets by partition where a read of ``from=text`` begins, of partitions in ``bounds`` only."""
    if text == BEGIN:
        return {partition: low for partition, (low, _) in bounds.items()}
    if text == END:
        return {partition: high for partition, (_, high) in bounds.items()}
    if _OFFSET.fullmatch(text):
        return dict.fromkeys(bounds, int(text))
    given = (each.split(":") for each in text.split(","))
    return {int(partition): int(offset) for partition, offset in given if int(partition) in bounds}
