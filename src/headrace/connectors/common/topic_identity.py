# SPDX-License-Identifier: Apache-2.0
"""Topics that had the same name, told from each other by their ids. Pure."""

from __future__ import annotations


def are_different(one: str, other: str) -> bool:
    """Whether two ids are of two topics. Brokers that know of no ids tell nothing: those are empty."""
    return bool(one and other) and one != other
