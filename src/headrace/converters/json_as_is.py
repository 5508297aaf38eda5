# SPDX-License-Identifier: Apache-2.0
"""The check whether schemaless JSON can be taken as orjson reads and writes it; true for most values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

INT64_END: Final = 1 << 63


def as_is_check(
    is_plain: Callable[[float], bool], *, plain_from: float, plain_to: float, keys: bool = False
) -> Callable[[Any], bool]:
    """Return a function that is true for values that Java and orjson represent alike, with everything in them.

    Floats of [``plain_from``, ``plain_to``) are plain without a call of ``is_plain``. With ``keys``, those of dicts
    have to be strings. The function raises RecursionError for what is nested too deeply. It runs for every record.
    """

    def is_as_is(value: Any) -> bool:
        kind = value.__class__
        if kind is dict:
            if keys:
                for key in value:
                    if key.__class__ is not str:
                        return False
            value = value.values()
        elif kind is not list:
            value = (value,)
        for entry in value:
            kind = entry.__class__
            if kind is str or kind is bool or entry is None:
                continue
            if kind is int:
                if not -INT64_END <= entry < INT64_END:
                    return False
            elif kind is float:
                if not (plain_from <= entry < plain_to or is_plain(entry)):
                    return False
            elif not ((kind is dict or kind is list) and is_as_is(entry)):
                return False
        return True

    return is_as_is
