# SPDX-License-Identifier: Apache-2.0
"""A clock that a test sets, in seconds."""

from __future__ import annotations


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now
