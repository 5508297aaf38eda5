# SPDX-License-Identifier: Apache-2.0
"""Parsing of properties as in Java."""

from __future__ import annotations


def split_pair(text: str) -> list[str]:
    """Return the parts of `a:b`, without empty ones at the end (Java: `String.split`); one part without a colon."""
    if ":" not in text:
        return [text]
    parts = text.split(":")
    while parts and not parts[-1]:
        parts.pop()
    return parts
