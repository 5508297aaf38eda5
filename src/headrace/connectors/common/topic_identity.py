# SPDX-License-Identifier: Apache-2.0
"""Topics of the same name, distinguished by their ids. Pure."""

from __future__ import annotations


def are_different(one: str, other: str) -> bool:
    """Return True if two ids belong to two topics. Ids from brokers without topic ids are empty, and equal to any."""
    return bool(one and other) and one != other
