# SPDX-License-Identifier: Apache-2.0
"""Text of properties, read as Java reads it."""

from __future__ import annotations


def split_pair(text: str) -> list[str]:
    """The parts of `a:b`, without empty ones at the end (Java: `String.split`); one without a colon is one part."""
    if ":" not in text:
        return [text]
    parts = text.split(":")
    while parts and not parts[-1]:
        parts.pop()
    return parts
