# SPDX-License-Identifier: Apache-2.0
"""Spark looks for modules of such names by itself: they bring formats that are written in Python."""

from __future__ import annotations

from shelf_format import Shelf


class DefaultSource(Shelf):
    @classmethod
    def name(cls) -> str:
        return "bookcase"
