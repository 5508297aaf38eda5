# SPDX-License-Identifier: Apache-2.0
"""The order of the versions of Java's artifacts, as Maven has it, for the common forms of versions. Pure."""

from __future__ import annotations

import re
from typing import Final

_PARTS: Final = re.compile(r"\d+|[a-z]+")
_BEFORE: Final = ("alpha", "a", "beta", "b", "milestone", "m", "rc", "cr", "snapshot")
"""The qualifiers that come before a release, in their order."""
_RELEASES: Final = ("final", "ga", "release")
_END: Final = (0, 0, "")
"""The end of a version: after a qualifier that comes before the release, before any other part."""
_ZERO: Final = (1, 0, "")


def version_key(version: str) -> tuple[tuple[int, int, str], ...]:
    """Return a key that sorts versions: 3.4.0.Alpha1 < 3.4.0.CR1 < 3.4.0.Final < 3.4.1 < 3.10.0."""
    key: list[tuple[int, int, str]] = []
    for text in _PARTS.findall(version.lower()):
        if text.isdigit():
            key.append((1, int(text), ""))
        elif text not in _RELEASES:
            _drop_zeros(key)
            key.append((-1, _BEFORE.index(text), "") if text in _BEFORE else (0, 1, text))
    _drop_zeros(key)
    return (*key, _END)


def _drop_zeros(key: list[tuple[int, int, str]]) -> None:
    """Remove the zeros at the end: 3.4 is 3.4.0."""
    while key and key[-1] == _ZERO:
        key.pop()
