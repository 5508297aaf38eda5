# SPDX-License-Identifier: Apache-2.0
"""A process that has so many files open that the next ones have numbers beyond what ``select`` can wait for."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager

_SELECTABLE = 1024


@contextmanager
def beyond_select() -> Iterator[None]:
    """Have all files that are opened meanwhile numbered from 1024 on."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    opened: list[int] = []
    try:
        while not opened or opened[-1] < _SELECTABLE:
            opened.append(os.open(os.devnull, os.O_RDONLY))
        yield
    finally:
        for fd in opened:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
